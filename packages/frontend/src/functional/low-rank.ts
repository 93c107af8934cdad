/** `torch._linalg_utils` and `torch._lowrank`: linear algebra of matrices of low rank. */
export const LINALG_UTILS = `
def is_sparse(A: Tensor) -> bool:
    return A.layout == torch.sparse_coo

def get_floating_dtype(A: Tensor) -> int:
    dtype = A.dtype
    if dtype == torch.float16 or dtype == torch.float32 or dtype == torch.float64:
        return dtype
    return torch.float32

def matmul(A: Optional[Tensor], B: Tensor) -> Tensor:
    if A is None:
        return B
    return torch.matmul(A, B)

def bform(X: Tensor, A: Optional[Tensor], Y: Tensor) -> Tensor:
    return matmul(X.mT, matmul(A, Y))

def qform(A: Optional[Tensor], S: Tensor) -> Tensor:
    return bform(S, A, S)

def basis(A: Tensor) -> Tensor:
    return torch.linalg_qr(A)[0]

def symeig(A: Tensor, largest: Optional[bool] = False) -> Tuple[Tensor, Tensor]:
    E, Z = torch.linalg_eigh(A, "U")
    if largest is not None and largest:
        E = torch.flip(E, [-1])
        Z = torch.flip(Z, [-1])
    return E, Z
`;

export const LOW_RANK = `
def get_approximate_basis(A: Tensor, q: int, niter: Optional[int] = 2, M: Optional[Tensor] = None) -> Tensor:
    rounds = 2 if niter is None else niter
    X = torch.randn([A.size(-1), q], dtype=A.dtype, device=A.device)
    X = torch._linalg_utils.matmul(A, X)
    if M is not None:
        X = X - torch._linalg_utils.matmul(M, torch.randn([A.size(-1), q], dtype=A.dtype, device=A.device))
    Q = torch._linalg_utils.basis(X)
    for _ in range(rounds):
        X = torch._linalg_utils.matmul(A.mH, Q)
        if M is not None:
            X = X - torch._linalg_utils.matmul(M.mH, Q)
        Q = torch._linalg_utils.basis(X)
        X = torch._linalg_utils.matmul(A, Q)
        if M is not None:
            X = X - torch._linalg_utils.matmul(M, Q)
        Q = torch._linalg_utils.basis(X)
    return Q

def _svd_lowrank(A: Tensor, q: Optional[int] = 6, niter: Optional[int] = 2, M: Optional[Tensor] = None) -> Tuple[Tensor, Tensor, Tensor]:
    rank = 6 if q is None else q
    m = A.size(-2)
    n = A.size(-1)
    if M is not None:
        M = M.broadcast_to(A.size())
    wide = m < n
    if wide:
        A = A.mH
        if M is not None:
            M = M.mH
    Q = get_approximate_basis(A, rank, niter, M)
    B = torch._linalg_utils.matmul(Q.mH, A)
    if M is not None:
        B = B - torch._linalg_utils.matmul(Q.mH, M)
    U, S, Vh = torch.linalg_svd(B, False)
    V = Vh.mH
    U = Q.matmul(U)
    if wide:
        U, V = V, U
    return U, S, V

def svd_lowrank(A: Tensor, q: Optional[int] = 6, niter: Optional[int] = 2, M: Optional[Tensor] = None) -> Tuple[Tensor, Tensor, Tensor]:
    return _svd_lowrank(A, q, niter, M)
`;
