import { expressionFaults, type KnownMetrics } from './expression-faults.js';
import { parsePromql } from './promql.js';

const known: KnownMetrics = {
  own: [
    { name: 'runs_total', type: 'counter', labels: ['outcome'] },
    { name: 'length', type: 'gauge', labels: ['kind'] },
    { name: 'turn_seconds', type: 'histogram', labels: [] },
  ],
  foreign: { up: ['job'] },
};
const faultsOf = (text: string) => expressionFaults(text, known);

describe(parsePromql, () => {
  test('finds series with their labels, functions and ranges', () => {
    expect(parsePromql('sum by (le, a) (rate(x_bucket{b=~"c|d", e!="}"}[5m])) > 0.1 and max(y) == 0')).toEqual({
      selectors: [
        { metric: 'x_bucket', labels: ['b', 'e'], within: 'rate', isRange: true },
        { metric: 'y', labels: [], within: 'max', isRange: false },
      ],
      groupings: ['le', 'a'],
    });
  });

  test.each([
    ['sum(a', /a bracket is not closed/],
    ['sum(a))', /\) closes no bracket/],
    ['sum(a}', /\} closes no bracket/],
    ['summ(a)', /the function summ is not known/],
    ['a{b}', /the label b has no operator/],
    ['a{b="c"', /the end is no label/],
    ['a{b=c}', /the label b has no text/],
    ['rate(a[5 minutes])', /5 is no duration|was expected/],
    ['rate(a[])', /is no duration/],
    ['sum by le (a)', /was expected and not le/],
    ['[5m]', /follows no metric/],
    ['a # b', /# is not known/],
  ])('%s is refused', (text, message) => {
    expect(() => parsePromql(text)).toThrow(message);
  });
});

describe(expressionFaults, () => {
  test('good expressions have none', () => {
    for (const text of [
      'sum by (outcome) (rate(runs_total{job=~"$job", outcome!="x"}[$__rate_interval]))',
      'histogram_quantile(0.99, sum by (le) (rate(turn_seconds_bucket[5m])))',
      'max by (kind) (length{kind="runs"}) > 30 and up{job="a"} == 1',
    ])
      expect(faultsOf(text)).toEqual([]);
  });

  test.each([
    ['sum(rate(runs[5m]))', ['there is no metric runs']],
    ['sum(rate(turn_seconds[5m]))', ['there is no metric turn_seconds']],
    ['max(length{queue="a"})', ['length has no label queue']],
    ['max by (outcome) (length)', ['no metric of the expression has the label outcome']],
    ['sum(rate(length[5m]))', ['length does not count: rate of it means nothing']],
    ['sum(rate(runs_total))', ['runs_total has no range']],
    ['sum(runs_total)', ['runs_total counts from the start of the process: take its rate']],
    ['sum(rate(turn_seconds_sum{le="1"}[5m]))', ['turn_seconds_sum has no label le']],
    ['max(length[5m])', ['length has a range and no rate']],
    ['max(length', ['a bracket is not closed: max(length']],
  ])('%s', (text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  });
});
