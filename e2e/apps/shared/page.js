// What applications in a page do besides; a service worker, which takes nothing of what the page has fetched, does not need it.

/** The models are beside the page, or where its address says, for servers that serve nothing but what they were built of. */
export const modelsOfPage = () =>
  new URL(new URLSearchParams(location.search).get('models') ?? 'models/', location.href);

/** Writes what comes of `promise` into the page. */
export async function show(promise) {
  const text = await promise.then(
    (result) => JSON.stringify(result),
    (error) => JSON.stringify({ error: `${error?.stack ?? error}` }),
  );
  const element = document.querySelector('#result') ?? document.body.appendChild(document.createElement('pre'));
  element.id = 'result';
  element.textContent = text;
}
