import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { fleet as text } from '../../../text/fleet.js';
import styles from './fleet.module.css';

interface QueueChartProps {
  /** What the chart shows, in words: it is an image for those who do not see it. */
  readonly label: string;
  readonly times: readonly number[];
  readonly lengths: readonly (number | null)[];
}

const HEIGHT = 120;
const MIN_WIDTH = 120;
/** Seconds that the time axis has at least, so that the first samples are not stretched over it. */
const MIN_SPAN_S = 60;

/** How much waited in one queue, over time. It is drawn again when the colors of the page change. */
export function QueueChart({ label, times, lengths }: QueueChartProps) {
  const plot = useRef<HTMLDivElement>(null);
  const stroke = useRef<HTMLSpanElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const data = useRef<uPlot.AlignedData>([[], []]);

  useEffect(() => {
    const draw = (): void => {
      const [place, line] = [plot.current, stroke.current];
      if (place === null || line === null) return;
      chart.current?.destroy();
      chart.current = new uPlot(optionsOf(place, getComputedStyle(line).color), data.current, place);
    };
    draw();
    const resized = new ResizeObserver(() => resize(plot.current, chart.current));
    if (plot.current !== null) resized.observe(plot.current);
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      themed.disconnect();
      dark.removeEventListener('change', draw);
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, []);

  useEffect(() => {
    data.current = [[...times], [...lengths]];
    chart.current?.setData(data.current);
  }, [times, lengths]);

  return (
    <div role="img" aria-label={label}>
      <span ref={stroke} className={styles['stroke']} />
      <div ref={plot} className={styles['plot']} />
    </div>
  );
}

const widthOf = (place: HTMLElement): number => Math.max(MIN_WIDTH, place.clientWidth);

function resize(place: HTMLElement | null, chart: uPlot | undefined): void {
  if (place !== null) chart?.setSize({ width: widthOf(place), height: HEIGHT });
}

function optionsOf(place: HTMLElement, color: string): uPlot.Options {
  const quiet = getComputedStyle(place).color;
  const axis = { stroke: quiet, grid: { show: false }, ticks: { stroke: quiet, width: 1 } };
  return {
    width: widthOf(place),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: (_chart, min, max) => [Math.min(min, max - MIN_SPAN_S), max] },
      y: { range: (_chart, _min, max) => [0, Math.max(1, max)] },
    },
    axes: [
      { ...axis, space: 70 },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000] },
    ],
    series: [{}, { label: text.chartSeries, stroke: color, width: 2, points: { size: 4 } }],
  };
}
