// Conversion between Python and C++ values, through Python's stable ABI.
#pragma once

// Free-threaded Python (without the global interpreter lock) has no stable ABI yet.
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace needful {

// Thrown after a call of Python's C API failed and set a Python exception.
struct PythonError {};

struct Release {
    void operator()(PyObject* object) const { Py_DECREF(object); }
};

// A reference to a Python object that this code owns.
using Owned = std::unique_ptr<PyObject, Release>;

// Takes over the reference that a function of Python returned; null means that an exception is set.
inline Owned owned(PyObject* object) {
    if (!object) throw PythonError();
    return Owned(object);
}

template <class T>
struct Reader;

// Returns the C++ value of a Python object. Lists and tuples are accepted for vectors, pairs, tuples and arrays.
template <class T>
T read(PyObject* object) {
    return Reader<T>::read(object);
}

template <>
struct Reader<PyObject*> {
    static PyObject* read(PyObject* object) { return object; }
};

template <>
struct Reader<std::int64_t> {
    static std::int64_t read(PyObject* object) {
        const long long value = PyLong_AsLongLong(object);
        if (value == -1 && PyErr_Occurred()) throw PythonError();
        return value;
    }
};

template <>
struct Reader<std::uint64_t> {
    static std::uint64_t read(PyObject* object) {
        const unsigned long long value = PyLong_AsUnsignedLongLong(object);
        if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw PythonError();
        return value;
    }
};

template <>
struct Reader<std::int32_t> {
    static std::int32_t read(PyObject* object) {
        const std::int64_t value = needful::read<std::int64_t>(object);
        if (value < INT32_MIN || value > INT32_MAX) {
            PyErr_SetString(PyExc_OverflowError, "the number does not fit into 32 bits");
            throw PythonError();
        }
        return static_cast<std::int32_t>(value);
    }
};

template <>
struct Reader<bool> {
    static bool read(PyObject* object) {
        const int value = PyObject_IsTrue(object);
        if (value < 0) throw PythonError();
        return value != 0;
    }
};

template <>
struct Reader<double> {
    static double read(PyObject* object) {
        const double value = PyFloat_AsDouble(object);
        if (value == -1.0 && PyErr_Occurred()) throw PythonError();
        return value;
    }
};

inline Py_ssize_t length(PyObject* sequence) {
    const Py_ssize_t size = PySequence_Size(sequence);
    if (size < 0) throw PythonError();
    return size;
}

template <class T>
T read_item(PyObject* sequence, std::size_t index) {
    return read<T>(owned(PySequence_GetItem(sequence, static_cast<Py_ssize_t>(index))).get());
}

template <class T>
struct Reader<std::vector<T>> {
    static std::vector<T> read(PyObject* object) {
        const auto size = static_cast<std::size_t>(length(object));
        std::vector<T> result;
        result.reserve(size);
        for (std::size_t index = 0; index < size; ++index) result.push_back(read_item<T>(object, index));
        return result;
    }
};

// A pair, tuple or array: a Python sequence of fixed length.
template <class T>
struct FixedReader {
    static constexpr std::size_t size = std::tuple_size<T>::value;

    static T read(PyObject* object) {
        if (length(object) != static_cast<Py_ssize_t>(size)) {
            PyErr_Format(PyExc_TypeError, "expected %d values, got %d", static_cast<int>(size),
                         static_cast<int>(length(object)));
            throw PythonError();
        }
        return read_items(object, std::make_index_sequence<size>());
    }

private:
    template <std::size_t... index>
    static T read_items(PyObject* object, std::index_sequence<index...>) {
        return T{read_item<std::tuple_element_t<index, T>>(object, index)...};
    }
};

template <class A, class B>
struct Reader<std::pair<A, B>> : FixedReader<std::pair<A, B>> {};
template <class... Ts>
struct Reader<std::tuple<Ts...>> : FixedReader<std::tuple<Ts...>> {};
template <class T, std::size_t n>
struct Reader<std::array<T, n>> : FixedReader<std::array<T, n>> {};

// Returns a new list of Python integers.
template <class Numbers>
Owned number_list(const Numbers& numbers) {
    Owned list = owned(PyList_New(0));
    for (const std::int64_t number : numbers)
        if (PyList_Append(list.get(), owned(PyLong_FromLongLong(number)).get()) < 0) throw PythonError();
    return list;
}

// Returns a Python object that stores a C++ value; only `stored` reads it. `name` must be a literal.
template <class T>
PyObject* store(std::unique_ptr<T> value, const char* name) {
    PyObject* capsule = PyCapsule_New(value.get(), name, [](PyObject* object) {
        delete static_cast<T*>(PyCapsule_GetPointer(object, PyCapsule_GetName(object)));
    });
    if (!capsule) throw PythonError();
    value.release();
    return capsule;
}

template <class T>
T& stored(PyObject* capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule, name)) {
        PyErr_Format(PyExc_TypeError, "expected a value of the type %s", name);
        throw PythonError();
    }
    return *static_cast<T*>(PyCapsule_GetPointer(capsule, name));
}

}  // namespace needful
