/** Functions of Hermitian matrices, by the beginning of a case's id: PyTorch's tests of gradients hand them a matrix and its transpose, added (`gradcheck_wrapper_hermitian_input`). */
const hermitian = [
  'op/cholesky/',
  'op/linalg.cholesky/',
  'op/linalg.cholesky_ex/',
  'op/linalg.eigh/',
  'op/linalg.eigvalsh/',
  'op/linalg.pinv.hermitian/',
];

export const isOfHermitian = (id: string): boolean => hermitian.some((beginning) => id.startsWith(beginning));

/**
 * Samples that PyTorch leaves out of its tests of gradients: several elements are put to one place, and which of them stays nobody can say; or what a
 * derivative needs is written to before it is asked for; or PyTorch's gradient is known not to be the derivative.
 */
const skipped = /^op\/nn\.functional\.max_unpool[123]d\/|^op\/as_strided_scatter\/|^op\/sigmoid_\/extra\//;

export const isSkipped = (id: string): boolean => skipped.test(id);
