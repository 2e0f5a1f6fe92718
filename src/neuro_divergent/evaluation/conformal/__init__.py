"""Conformal prediction: a trained forecaster and calibration data come in, forecasts with calibrated intervals go out.

Entry point: ``conformal.Conformal``.
"""
