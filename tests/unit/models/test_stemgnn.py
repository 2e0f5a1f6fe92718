"""StemGNN: filters over the graph against eigenvectors and Chebyshev polynomials of numpy."""

from __future__ import annotations

import numpy as np
import torch
from numpy.polynomial import chebyshev

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.stemgnn import StemGNN, chebyshev_polynomials, normalised_laplacian


def test_polynomials_filter_the_graph_fourier_spectrum() -> None:
    torch.manual_seed(0)
    graph = torch.rand(6, 6, dtype=torch.float64)
    laplacian = normalised_laplacian(graph)
    signal, coefficients = np.random.default_rng(0).normal(size=(6, 4)), [0.3, -1.2, 0.5, 0.8]
    filters = np.tensordot(coefficients, chebyshev_polynomials(laplacian).numpy(), 1)
    eigenvalues, vectors = np.linalg.eigh(laplacian.numpy())
    spectrum = vectors.T @ signal
    expected = vectors @ (chebyshev.chebval(eigenvalues, coefficients)[:, None] * spectrum)
    np.testing.assert_allclose(filters @ signal, expected, atol=1e-12)


def test_laplacian_is_that_of_the_symmetric_graph() -> None:
    torch.manual_seed(0)
    graph = torch.rand(2, 5, 5, dtype=torch.float64)
    for laplacian, weights in zip(normalised_laplacian(graph).numpy(), graph.numpy(), strict=True):
        symmetric = (weights + weights.T) / 2
        root = np.diag(symmetric.sum(1) ** -0.5)
        np.testing.assert_allclose(laplacian, np.eye(5) - root @ symmetric @ root, atol=1e-12)
        eigenvalues = np.linalg.eigvalsh(laplacian)
        assert abs(eigenvalues[0]) < 1e-12
        assert eigenvalues[-1] <= 2


def test_a_series_without_any_edge_stays_finite() -> None:
    graph = torch.zeros(3, 3, requires_grad=True)
    laplacian = normalised_laplacian(graph)
    laplacian.sum().backward()
    assert torch.equal(laplacian, torch.eye(3))
    assert graph.grad is not None
    assert graph.grad.isfinite().all()


def test_every_number_of_blocks_works() -> None:
    for blocks in (1, 2, 3):
        network = StemGNN(num_blocks=blocks, multiplier=2).build(TaskSpec(4, 8, channels=3, outputs=2))
        assert network(Batch(torch.randn(5, 8, 3), torch.ones(5, 8, 3))).shape == (5, 4, 3, 2)
