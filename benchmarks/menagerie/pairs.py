"""Which architectures are compared, and the settings that make two of the same name equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Settings = dict[str, Any]
Size = Literal["default", "small"]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """An architecture here and the one there, of the same size.

    Attributes:
        ours: Name here.
        theirs: Name there.
        joint: Whether a window spans all series.
        same: Settings here that do what the defaults there do.
        match: Settings there that do what is done here.
        small: Settings here and there for a small network.
        note: What is not the same, and why the numbers of parameters differ where they do.
    """

    ours: str
    theirs: str
    joint: bool = False
    same: Settings = field(default_factory=dict)
    match: Settings = field(default_factory=dict)
    small: tuple[Settings, Settings] = ({}, {})
    note: str = ""

    def our_settings(self, size: Size) -> Settings:
        """Return the settings of our architecture."""
        return self.same | (self.small[0] if size == "small" else {})

    def their_settings(self, size: Size) -> Settings:
        """Return the settings of theirs."""
        return self.match | (self.small[1] if size == "small" else {})


def _hidden(units: int) -> tuple[Settings, Settings]:
    """Make a network small where both sides have one name for its width."""
    return {"hidden_size": units}, {"hidden_size": units}


def _encoder(units: int) -> tuple[Settings, Settings]:
    """Make a network of an encoder and a decoder small."""
    return (
        {"hidden_size": units, "decoder_hidden_size": units},
        {"encoder_hidden_size": units, "decoder_hidden_size": units},
    )


def _doubly_residual(units: int) -> tuple[Settings, Settings]:
    """Make the perceptrons of N-BEATS and N-HiTS small."""
    return {"hidden_size": units}, {"mlp_units": [[units, units]] * 3}


_TOKENS = ({"hidden_size": 64, "feedforward_size": 128}, {"hidden_size": 64, "d_ff": 128})
_STARS = ({"hidden_size": 64, "core_size": 64, "feedforward_size": 128}, {"hidden_size": 64, "d_core": 64, "d_ff": 128})

PAIRS = (
    Pair(ours="nlinear", theirs="NLinear"),
    Pair(ours="dlinear", theirs="DLinear"),
    Pair(ours="mlp", theirs="MLP", small=_hidden(64)),
    Pair(ours="mlpmultivariate", theirs="MLPMultivariate", joint=True, small=_hidden(64)),
    Pair(ours="nbeats", theirs="NBEATS", small=_doubly_residual(64)),
    Pair(ours="nbeatsx", theirs="NBEATSx", small=_doubly_residual(64)),
    Pair(ours="nhits", theirs="NHITS", small=_doubly_residual(64)),
    Pair(ours="tide", theirs="TiDE", small=_hidden(64), note="theirs normalises the single output of a step"),
    Pair(ours="tsmixer", theirs="TSMixer", joint=True, small=({"hidden_size": 16}, {"ff_dim": 16})),
    Pair(ours="tsmixerx", theirs="TSMixerx", joint=True, small=({"hidden_size": 16}, {"ff_dim": 16})),
    Pair(ours="deepnpts", theirs="DeepNPTS", small=_hidden(16)),
    Pair(ours="softs", theirs="SOFTS", joint=True, small=_STARS),
    Pair(ours="softs", theirs="SOFTSSharp", joint=True, same={"sharp": True}, small=_STARS),
    Pair(
        ours="timemixer",
        theirs="TimeMixer",
        joint=True,
        small=({"hidden_size": 16, "feedforward_size": 16}, {"d_model": 16, "d_ff": 16}),
        note="theirs has layers that nothing reads",
    ),
    Pair(ours="xlinear", theirs="XLinear", joint=True, small=_hidden(32)),
    Pair(ours="kan", theirs="KAN", small=_hidden(64)),
    Pair(ours="rmok", theirs="RMoK", joint=True, note="theirs has a matrix that nothing reads"),
    Pair(ours="rnn", theirs="RNN", small=_encoder(32)),
    Pair(ours="lstm", theirs="LSTM", small=_encoder(32)),
    Pair(ours="gru", theirs="GRU", small=_encoder(32)),
    Pair(ours="dilated_rnn", theirs="DilatedRNN", small=_encoder(32)),
    Pair(
        ours="deepar",
        theirs="DeepAR",
        match={"h_train": 24},
        small=({"hidden_size": 32}, {"lstm_hidden_size": 32}),
        note="theirs with h_train=24: both learn all steps of the horizon",
    ),
    Pair(ours="xlstm", theirs="xLSTM", small=_encoder(32)),
    Pair(ours="tcn", theirs="TCN", small=_encoder(32)),
    Pair(ours="bitcn", theirs="BiTCN", small=_hidden(8)),
    Pair(
        ours="timesnet",
        theirs="TimesNet",
        same={"periods": "batch"},
        small=({"hidden_size": 16, "conv_hidden_size": 16}, {"hidden_size": 16, "conv_hidden_size": 16}),
        note='ours with periods="batch", which theirs has',
    ),
    Pair(
        ours="vanilla_transformer",
        theirs="VanillaTransformer",
        same={"causal": False},
        small=_hidden(32),
        note="ours with causal=False, which theirs is",
    ),
    Pair(ours="informer", theirs="Informer", small=_hidden(32)),
    Pair(ours="autoformer", theirs="Autoformer", small=_hidden(32), note="theirs adds a bias and takes it out again"),
    Pair(
        ours="fedformer",
        theirs="FEDformer",
        small=_hidden(32),
        note="their encoder layers share one block between frequencies, ours have their own; theirs has projections "
        "that nothing reads",
    ),
    Pair(
        ours="patchtst",
        theirs="PatchTST",
        same={"level": "last"},
        small=({"hidden_size": 32, "feedforward_size": 64}, {"hidden_size": 32, "linear_hidden_size": 64}),
        note='ours with level="last", which theirs has',
    ),
    Pair(ours="itransformer", theirs="iTransformer", joint=True, small=_TOKENS),
    Pair(ours="tft", theirs="TFT", small=_hidden(32), note="theirs selects among one variable and has empty contexts"),
    Pair(ours="timexer", theirs="TimeXer", joint=True, small=_TOKENS),
    Pair(ours="stemgnn", theirs="StemGNN", joint=True, note="theirs has a layer that nothing reads"),
)
