"""Tables, figures and pages made from recorded results alone."""
