import { MAX_BINS } from './bins.ts';

/** What a tree is grown on: one column of bins for each feature, and for each row the slopes of the loss. */
export interface GrowingGround {
  /** columns[feature][row]: bin 0..63; undefined for a feature that is left out of this tree. */
  readonly columns: readonly (Uint8Array | undefined)[];
  /** First and second derivative of the loss by the row's score. */
  readonly gradients: Float64Array;
  readonly hessians: Float64Array;
}

/** How a tree may grow. */
export interface GrowthLimits {
  readonly leaves: number;
  /** Rows that a leaf has at least. */
  readonly leafRows: number;
  /** Added to a leaf's second derivatives: the larger, the more rows it takes to believe in a leaf. */
  readonly shrink: number;
  /** Least improvement of a split. */
  readonly gain: number;
}

/** A node: a split where `feature` >= 0 (bin >= `bin` goes right), a leaf otherwise. `value` is that of a leaf here. */
export interface GrownNode {
  feature: number;
  bin: number;
  left: number;
  right: number;
  readonly value: number;
}

interface Split {
  readonly gain: number;
  readonly feature: number;
  readonly bin: number;
}

interface Leaf {
  readonly node: number;
  readonly rows: Uint32Array;
  readonly gradient: number;
  readonly hessian: number;
  readonly histogram: Float64Array;
  readonly split: Split | undefined;
}

/** Cells of a bin: sum of gradients, sum of hessians, rows. */
const CELLS = 3;
const STRIDE = MAX_BINS * CELLS;

/** Rows that are added to all features before the next ones are: what is read of them again and again stays close. */
const BLOCK = 2_048;

/**
 * Grows one regression tree on the first `count` rows of the ground, the best split first. Deterministic: the earlier
 * feature and the lower bin win a tie.
 *
 * @param rest  called after every block of rows; may pause
 * @returns nodes, the root first
 */
export function growTree(
  ground: GrowingGround,
  count: number,
  limits: GrowthLimits,
  rest: () => void,
): GrownNode[] {
  const used = ground.columns.flatMap((column, feature) => (column === undefined ? [] : [feature]));
  const nodes: GrownNode[] = [];
  const open: Leaf[] = [];
  const addLeaf = (leafRows: Uint32Array, histogram: Float64Array): number => {
    const { gradient, hessian } = sumsOf(ground, leafRows);
    const node = nodes.length;
    nodes.push({
      feature: -1,
      bin: 0,
      left: -1,
      right: -1,
      value: -gradient / (hessian + limits.shrink),
    });
    const split = bestSplit(histogram, used, gradient, hessian, leafRows.length, limits);
    open.push({ node, rows: leafRows, gradient, hessian, histogram, split });
    return node;
  };
  const rows = Uint32Array.from({ length: count }, (_, row) => row);
  addLeaf(rows, histogramOf(ground, used, rows, rest));
  for (let leaves = 1; leaves < limits.leaves; leaves++) {
    let best = -1;
    for (let i = 0; i < open.length; i++) {
      const gain = open[i]?.split?.gain ?? 0;
      if (gain > (open[best]?.split?.gain ?? 0)) best = i;
    }
    const [leaf] = best < 0 ? [] : open.splice(best, 1);
    if (leaf?.split === undefined) break;
    const { feature, bin } = leaf.split;
    const [left, right] = partition(ground.columns[feature] as Uint8Array, leaf.rows, bin);
    // Adding up the smaller side is enough: the larger is what is left of the parent's bins.
    const isLeftSmall = left.length <= right.length;
    const small = histogramOf(ground, used, isLeftSmall ? left : right, rest);
    const large = leaf.histogram;
    for (let i = 0; i < large.length; i++) large[i] = (large[i] as number) - (small[i] as number);
    const node = nodes[leaf.node] as GrownNode;
    node.feature = feature;
    node.bin = bin;
    node.left = addLeaf(left, isLeftSmall ? small : large);
    node.right = addLeaf(right, isLeftSmall ? large : small);
  }
  return nodes;
}

function sumsOf({ gradients, hessians }: GrowingGround, rows: Uint32Array) {
  let gradient = 0;
  let hessian = 0;
  for (const row of rows) {
    gradient += gradients[row] as number;
    hessian += hessians[row] as number;
  }
  return { gradient, hessian };
}

function histogramOf(
  { columns, gradients, hessians }: GrowingGround,
  used: readonly number[],
  rows: Uint32Array,
  rest: () => void,
): Float64Array {
  const histogram = new Float64Array(used.length * STRIDE);
  const slopes = new Float64Array(2 * BLOCK);
  for (let from = 0; from < rows.length; from += BLOCK) {
    const block = rows.subarray(from, from + BLOCK);
    for (let i = 0; i < block.length; i++) {
      slopes[2 * i] = gradients[block[i] as number] as number;
      slopes[2 * i + 1] = hessians[block[i] as number] as number;
    }
    for (let u = 0; u < used.length; u++) {
      addColumn(histogram, u * STRIDE, columns[used[u] as number] as Uint8Array, block, slopes);
    }
    rest();
  }
  return histogram;
}

/** Adds rows to the bins of one feature; `slopes` holds the gradient and the hessian of each. */
function addColumn(
  histogram: Float64Array,
  base: number,
  column: Uint8Array,
  rows: Uint32Array,
  slopes: Float64Array,
): void {
  for (let i = 0; i < rows.length; i++) {
    const cell = base + (column[rows[i] as number] as number) * CELLS;
    histogram[cell] = (histogram[cell] as number) + (slopes[2 * i] as number);
    histogram[cell + 1] = (histogram[cell + 1] as number) + (slopes[2 * i + 1] as number);
    histogram[cell + 2] = (histogram[cell + 2] as number) + 1;
  }
}

function bestSplit(
  histogram: Float64Array,
  used: readonly number[],
  gradient: number,
  hessian: number,
  rows: number,
  { leafRows, shrink, gain: least }: GrowthLimits,
): Split | undefined {
  if (rows < 2 * leafRows) return undefined;
  const before = (gradient * gradient) / (hessian + shrink);
  let best = least;
  let bestUsed = -1;
  let bestBin = 0;
  for (let u = 0; u < used.length; u++) {
    let left = 0;
    let leftHessian = 0;
    let leftRows = 0;
    let cell = u * STRIDE;
    for (let bin = 1; bin < MAX_BINS; bin++, cell += CELLS) {
      const inBin = histogram[cell + 2] as number;
      if (inBin === 0) continue;
      left += histogram[cell] as number;
      leftHessian += histogram[cell + 1] as number;
      leftRows += inBin;
      if (leftRows < leafRows) continue;
      if (rows - leftRows < leafRows) break;
      const right = gradient - left;
      const gain =
        (left * left) / (leftHessian + shrink) +
        (right * right) / (hessian - leftHessian + shrink) -
        before;
      if (gain > best) {
        best = gain;
        bestUsed = u;
        bestBin = bin;
      }
    }
  }
  if (bestUsed < 0) return undefined;
  return { gain: best, feature: used[bestUsed] as number, bin: bestBin };
}

function partition(column: Uint8Array, rows: Uint32Array, bin: number): [Uint32Array, Uint32Array] {
  let leftCount = 0;
  for (const row of rows) if ((column[row] as number) < bin) leftCount++;
  const left = new Uint32Array(leftCount);
  const right = new Uint32Array(rows.length - leftCount);
  let l = 0;
  let r = 0;
  for (const row of rows) {
    if ((column[row] as number) < bin) left[l++] = row;
    else right[r++] = row;
  }
  return [left, right];
}
