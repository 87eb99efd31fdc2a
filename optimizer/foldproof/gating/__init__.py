"""The gate of continuous integration: is a model optimized, does its certificate hold, is it within its budgets?"""
