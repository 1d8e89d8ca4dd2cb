// Figures below the stage: radii and what they buy, and how the map was found.

function buildRadii(points) {
  const body = document.getElementById("radii-body"), { radii } = points.data;
  if (!radii.values) return body.replaceChildren(make("p", { class: "quiet" }, `No certified radii here. ${radii.reason}`));
  const intro = "No change of a sample by less than its certified radius, in any direction, changes the label that the model gives it. "
    + `The radius is measured in ${radii.unit}; it does not say whether the label is right. ${radii.sentence}`;
  body.replaceChildren(make("p", { class: "quiet" }, intro), ...radiusHistogram(points), ...riskCoverage(radii.risk));
}

function radiusHistogram(points) {
  const values = [...points.data.radii.values.values];
  const finite = values.filter(Number.isFinite);
  if (!finite.length) return [make("p", {}, "All radii are infinite: no change of a sample changes its label.")];
  const high = Math.max(-smallest(finite.map((v) => -v)), 1e-12), n = 30;
  const right = new Array(n).fill(0), wrong = new Array(n).fill(0);
  values.forEach((v, row) => {
    if (!Number.isFinite(v)) return;
    const bin = Math.min(n - 1, Math.floor((n * v) / high));
    (points.isWrong(points.nTrain + row) ? wrong : right)[bin]++;
  });
  const most = Math.max(...right.map((count, k) => count + wrong[k]));
  const figure = chart("Certified radii of the test samples",
    { x: [0, high], y: [0, most], xLabel: "certified radius", yLabel: "samples", yTicks: ticks(0, most).filter(Number.isInteger) }, (svg, toX, toY) => {
      const bar = (k, from, to, kind) => {
        if (to <= from) return;
        const left = toX((k * high) / n);
        svg.append(draw("rect", { x: left + 0.5, y: toY(to), width: toX(high / n) - toX(0) - 1, height: toY(from) - toY(to), class: kind }));
      };
      right.forEach((count, k) => {
        bar(k, 0, wrong[k], "bar-wrong");
        bar(k, wrong[k], wrong[k] + count, "bar");
      });
    });
  const key = [make("span", {}, points.data.labelled ? "label right" : "all")];
  if (points.data.labelled) key.push(make("span", { class: "is-wrong" }, "label wrong"));
  const infinite = values.length - finite.length;
  const beyond = infinite ? [make("p", { class: "quiet" }, `${infinite} more have an infinite radius.`)] : [];
  return [figure, make("div", { class: "key" }, ...key), ...beyond];
}

function riskCoverage(risk) {
  if (!risk) return [];
  const share = risk.coverage.map((v) => 100 * v), error = risk.risk.map((v) => 100 * v);
  const top = Math.max(1.25 * Math.max(...error.filter((_, k) => share[k] >= 5), 100 * risk.error), 1);
  const figure = chart("Mistakes among accepted predictions",
    { x: [0, 100], y: [0, top], xLabel: "samples accepted, largest radii first (%)", yLabel: "mislabelled (%)" },
    (svg, toX, toY) => {
      line(svg, [0, 100], [100 * risk.error, 100 * risk.error], toX, toY, "reference");
      const inside = share.map((x, k) => [x, error[k]]).filter(([, y]) => y <= top);
      line(svg, inside.map(([x]) => x), inside.map(([, y]) => y), toX, toY);
      dots(svg, [80], [100 * risk.at_80], toX, toY, [`${percent(risk.at_80)} of the accepted are mislabelled`]);
    });
  const words = `Of all test samples ${percent(risk.error)} are mislabelled; of the 80 % with the largest radii ${percent(risk.at_80)}.`;
  return [figure, make("p", { class: "quiet" }, words)];
}

function buildTrace(points) {
  const { trace } = points.data;
  if (!trace || !trace.sigma.length) return;
  document.getElementById("trace").hidden = false;
  const best = trace.excess.reduce((least, v, k) => (v < trace.excess[least] ? k : least), 0);
  const steps = trace.sigma.map((_, k) => k + 1);
  const names = steps.map((step, k) => `step ${step}, ${trace.stage[k]}: σ ${number(trace.sigma[k])}, objective ${number(trace.excess[k])}`);
  const panel = (title, values, yLabel, logY) => {
    const low = smallest(values), high = -smallest(values.map((v) => -v));
    const y = logY ? [low / (high / low) ** 0.06 / 1.05, high * (high / low) ** 0.06 * 1.05] : rangeOf(values);
    return chart(title, { x: [1, Math.max(2, steps.length)], y, xLabel: "step", yLabel, logY }, (svg, toX, toY) => {
      line(svg, steps, values, toX, toY);
      dots(svg, steps, values, toX, toY, names);
      dots(svg, [steps[best]], [values[best]], toX, toY, [names[best]], "chosen");
    });
  };
  const positive = (values) => smallest(values) > 0;
  document.getElementById("trace-body").replaceChildren(
    make("p", { class: "quiet" }, "Every step evaluates the objective at one kernel scale σ; the marked one has the smallest value. The objective is shown without its constant part."),
    panel("Kernel scale σ", trace.sigma, "σ", positive(trace.sigma)),
    panel("Objective", trace.excess, "objective", positive(trace.excess)),
  );
}
