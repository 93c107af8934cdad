// Where the servers of a test run listen. All are on localhost, which browsers treat as a secure context.
const firstPort = Number(process.env.E2E_PORT ?? 4173);

export const ports = { playground: firstPort, pages: firstPort + 1, bench: firstPort + 2 };

/** The built playground. */
export const playgroundAddress = `http://localhost:${ports.playground}/`;

/** Plain pages around the built library; `strict/` in front of a path adds a strict Content-Security-Policy. */
export const pagesAddress = `http://localhost:${ports.pages}/`;

/** The built page of the bench. */
export const benchAddress = `http://localhost:${ports.bench}/`;
