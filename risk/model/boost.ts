import type { Edges } from './bins.ts';
import { sigmoid, type Forest } from './forest.ts';
import { growTree, type GrownNode, type GrowthLimits } from './grow-tree.ts';

/** Rows to learn from, already cut into bins. */
export interface TrainingRows {
  readonly edges: Edges;
  /** columns[feature][row]: bin of the value. */
  readonly columns: readonly Uint8Array[];
  /** 1 for fraud, 0 for genuine. */
  readonly labels: Uint8Array;
  /** How many rows of the stream each row stands for. */
  readonly weights: Float64Array;
}

/** How a forest is learned; all of it goes into the model's stored settings. */
export interface BoostSettings extends GrowthLimits {
  readonly trees: number;
  /** Share of a tree's values that is added. */
  readonly rate: number;
  /** Shares of features and of rows that each tree sees. */
  readonly featureShare: number;
  readonly rowShare: number;
  readonly seed: number;
}

/** Called after each tree with what it added to the logit of every row of the ground; false ends the learning. */
export type AfterTree = (tree: number, logits: Float64Array) => boolean;

/**
 * Learns a forest by gradient boosting of the logistic loss. The same rows and settings give the same forest to the last
 * bit: rows are taken in their order, random choices come from the seed.
 *
 * @param learn  rows to learn from; the logits of all others are kept too, for `afterTree`
 */
export function boost(
  rows: TrainingRows,
  learn: Uint32Array,
  settings: BoostSettings,
  afterTree: AfterTree = () => true,
): Forest {
  const count = rows.labels.length;
  const base = priorLogit(rows, learn);
  const logits = new Float64Array(count).fill(base);
  const gradients = new Float64Array(count);
  const hessians = new Float64Array(count);
  const random = randomSource(settings.seed);
  const telling = rows.edges.flatMap((edges, feature) => (edges.length === 0 ? [] : [feature]));
  const trees: GrownNode[][] = [];
  for (let tree = 0; tree < settings.trees; tree++) {
    for (const row of learn) {
      const probability = sigmoid(logits[row] as number);
      const weight = rows.weights[row] as number;
      gradients[row] = (probability - (rows.labels[row] as number)) * weight;
      hessians[row] = probability * (1 - probability) * weight;
    }
    const chosen = new Set(telling.filter(() => random() < settings.featureShare));
    const columns = rows.columns.map((column, feature) =>
      chosen.has(feature) ? column : undefined,
    );
    const sample =
      settings.rowShare >= 1 ? learn : learn.filter(() => random() < settings.rowShare);
    const grown = growTree({ columns, gradients, hessians }, sample, settings);
    addTree(rows.columns, grown, settings.rate, logits);
    trees.push(grown);
    if (!afterTree(tree, logits)) break;
  }
  return flatten(rows, learn, trees, base, settings.rate);
}

function priorLogit({ labels, weights }: TrainingRows, learn: Uint32Array): number {
  let frauds = 0;
  let all = 0;
  for (const row of learn) {
    all += weights[row] as number;
    frauds += (weights[row] as number) * (labels[row] as number);
  }
  return Math.log(frauds / (all - frauds));
}

function addTree(
  columns: readonly Uint8Array[],
  nodes: readonly GrownNode[],
  rate: number,
  logits: Float64Array,
): void {
  for (let row = 0; row < logits.length; row++) {
    logits[row] = (logits[row] as number) + leafOf(columns, nodes, row).value * rate;
  }
}

function leafOf(
  columns: readonly Uint8Array[],
  nodes: readonly GrownNode[],
  row: number,
): GrownNode {
  let node = nodes[0] as GrownNode;
  while (node.feature >= 0) {
    const bin = (columns[node.feature] as Uint8Array)[row] as number;
    node = nodes[bin >= node.bin ? node.right : node.left] as GrownNode;
  }
  return node;
}

/** Thresholds for bins, and the mean value under every split by the weight of the rows that reach it. */
function flatten(
  { edges, columns, weights }: TrainingRows,
  learn: Uint32Array,
  trees: readonly (readonly GrownNode[])[],
  base: number,
  rate: number,
): Forest {
  const count = trees.reduce((sum, nodes) => sum + nodes.length, 0);
  const forest = {
    base,
    roots: [] as number[],
    features: new Int32Array(count).fill(-1),
    thresholds: new Float64Array(count),
    lefts: new Int32Array(count),
    rights: new Int32Array(count),
    values: new Float64Array(count),
  };
  let first = 0;
  for (const nodes of trees) {
    forest.roots.push(first);
    const reached = new Float64Array(nodes.length);
    for (const row of learn) {
      let index = 0;
      let node = nodes[0] as GrownNode;
      while (node.feature >= 0) {
        const bin = (columns[node.feature] as Uint8Array)[row] as number;
        index = bin >= node.bin ? node.right : node.left;
        node = nodes[index] as GrownNode;
      }
      reached[index] = (reached[index] as number) + (weights[row] as number);
    }
    for (let i = nodes.length - 1; i >= 0; i--) {
      const node = nodes[i] as GrownNode;
      const at = first + i;
      if (node.feature < 0) {
        forest.values[at] = node.value * rate;
        continue;
      }
      const [left, right] = [reached[node.left] as number, reached[node.right] as number];
      reached[i] = left + right;
      forest.features[at] = node.feature;
      forest.thresholds[at] = (edges[node.feature] as Float64Array)[node.bin - 1] as number;
      forest.lefts[at] = first + node.left;
      forest.rights[at] = first + node.right;
      const leftValue = forest.values[first + node.left] as number;
      const rightValue = forest.values[first + node.right] as number;
      forest.values[at] =
        left + right === 0 ? 0 : (leftValue * left + rightValue * right) / (left + right);
    }
    first += nodes.length;
  }
  return forest;
}

/** Seeded random numbers in [0, 1): mulberry32. */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
