"""Classifiers as ONNX models: double precision, in operators that every runtime has."""
