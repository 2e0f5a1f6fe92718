"""How a server makes new weights from the updates of clients, one rule per file.

Updates of a round come in as rows of a matrix, with a weight for each; a direction comes out, and a step in that
direction. ``base.py`` has the contract.
"""
