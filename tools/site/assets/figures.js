// Draws the figures of a tutorial in the colours of the page, and again when the reader switches between light and dark.
(() => {
  const style = () => getComputedStyle(document.body);
  const colour = (name) => style().getPropertyValue(name).trim();

  const inColours = (layout) => {
    const text = colour("--md-default-fg-color") || style().color;
    const grid = colour("--md-default-fg-color--lightest") || "rgba(128, 128, 128, .3)";
    const axes = {};
    const names = Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
    for (const key of new Set(["xaxis", "yaxis", ...names])) {
      axes[key] = { ...layout[key], gridcolor: grid, linecolor: grid, zerolinecolor: grid };
    }
    return {
      ...layout, ...axes, autosize: true, width: undefined,
      paper_bgcolor: "rgba(0, 0, 0, 0)", plot_bgcolor: "rgba(0, 0, 0, 0)",
      font: { ...layout.font, color: text },
      legend: { bgcolor: "rgba(0, 0, 0, 0)", ...layout.legend },
    };
  };

  const draw = () => {
    for (const place of document.querySelectorAll(".nd-figure")) {
      const figure = (window.ndFigures || {})[place.dataset.figure];
      if (!figure || !window.Plotly) continue;
      window.Plotly.react(place, figure.data, inColours(figure.layout || {}), { responsive: true, displaylogo: false, displayModeBar: "hover" });
    }
  };

  draw();
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
})();
