import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { facts } from '../../../../text/records/facts.js';
import styles from '../records.module.css';
import type { UsageChartData } from './usage-series.js';

const HEIGHT = 300;
const DAY_SECONDS = 86_400;
/** Steps of the axis of days. */
const DAYS_BETWEEN = [1, 2, 7, 14, 30].map((days) => days * DAY_SECONDS);

const dayOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10);

/** Different for people who see red and green alike, on light and on dark ground. */
const COLORS = ['#2f8f87', '#d98324', '#5b7bd5', '#b4539b', '#8a8f2a', '#c0504d', '#85888a'];
const DASHES = [[], [6, 3], [2, 3], [10, 3], [4, 2, 1, 2], [1, 4], [8, 2, 2, 2]];

interface UsageChartProps {
  readonly data: UsageChartData;
  /** A value as people read it. */
  readonly format: (value: number) => string;
}

/** Lines over days. Hidden from screen readers: the table below has the same numbers. */
export function UsageChart({ data, format }: UsageChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    const plot = new uPlot(optionsOf(element, data, format), valuesOf(data), element);
    const observer = new ResizeObserver(() => plot.setSize({ width: widthOf(element), height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [data, format]);
  return <div ref={holder} className={styles['chart']} aria-hidden="true" />;
}

const PADDING = 16;
const widthOf = (element: HTMLElement): number => Math.max(200, element.clientWidth - PADDING);

const valuesOf = ({ days, lines }: UsageChartData): uPlot.AlignedData => [
  days.map((day) => Date.parse(day) / 1_000),
  ...lines.map(({ values }) => [...values]),
];

function optionsOf(element: HTMLElement, { lines }: UsageChartData, format: UsageChartProps['format']): uPlot.Options {
  // A canvas knows no variables of the page.
  const stroke = getComputedStyle(element).color;
  const grid = { stroke: `color-mix(in srgb, ${stroke} 15%, transparent)`, width: 1 };
  return {
    width: widthOf(element),
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    axes: [
      { stroke, grid, incrs: DAYS_BETWEEN, values: (_plot, ticks) => ticks.map(dayOf) },
      { stroke, grid, size: 80, values: (_plot, ticks) => ticks.map(format) },
    ],
    series: [
      {
        label: facts.groups.day,
        value: (_plot: uPlot, seconds: number | null) => (seconds === null ? '' : dayOf(seconds)),
      },
      ...lines.map(({ name }, at) => ({
        label: name,
        stroke: COLORS[at % COLORS.length] ?? stroke,
        dash: DASHES[at % DASHES.length] ?? [],
        width: 2,
        value: (_plot: uPlot, value: number | null) => (value === null ? '' : format(value)),
      })),
    ],
  };
}
