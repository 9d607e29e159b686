import { sigmoid } from './forest.ts';

/** Turns a forest's logit into that of an honest probability: scale x logit + shift. */
export interface Calibration {
  readonly scale: number;
  readonly shift: number;
}

const STEPS = 50;

/**
 * Fits a calibration on events the forest has not seen, by Newton's steps on the logistic loss (Platt's scaling). A
 * strictly rising line, so that it changes no ranking: where the data would turn it round, logits stay as they are.
 */
export function fitCalibration(
  logits: Float64Array,
  labels: Uint8Array,
  weights: Float64Array,
): Calibration {
  let scale = 1;
  let shift = 0;
  for (let step = 0; step < STEPS; step++) {
    let [gs, gb, hss, hsb, hbb] = [1e-6 * (scale - 1), 0, 1e-6, 0, 1e-6];
    for (let i = 0; i < logits.length; i++) {
      const logit = logits[i] as number;
      const weight = weights[i] as number;
      const probability = sigmoid(scale * logit + shift);
      const gradient = (probability - (labels[i] as number)) * weight;
      const hessian = probability * (1 - probability) * weight;
      gs += gradient * logit;
      gb += gradient;
      hss += hessian * logit * logit;
      hsb += hessian * logit;
      hbb += hessian;
    }
    const determinant = hss * hbb - hsb * hsb;
    if (!(determinant > 0)) break;
    const dScale = (hbb * gs - hsb * gb) / determinant;
    const dShift = (hss * gb - hsb * gs) / determinant;
    scale -= dScale;
    shift -= dShift;
    if (Math.abs(dScale) + Math.abs(dShift) < 1e-9) break;
  }
  if (!(scale > 0.05) || !Number.isFinite(scale) || !Number.isFinite(shift)) {
    return { scale: 1, shift: 0 };
  }
  return { scale, shift };
}
