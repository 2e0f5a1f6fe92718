"""Forecasts of every architecture with weights and inputs from a formula, compared with stored ones."""
