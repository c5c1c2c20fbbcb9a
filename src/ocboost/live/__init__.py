"""A model that answers and learns while it is in service, and loses nothing: `Adapter`."""
