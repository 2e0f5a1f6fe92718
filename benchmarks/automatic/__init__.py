"""Automatic forecasters side by side: a table and a time budget in, forecasts out."""
