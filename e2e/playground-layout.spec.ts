import { expect, test } from '@playwright/test';

const sizes = [
  { name: 'a desktop', width: 1280, height: 800 },
  { name: 'a phone', width: 390, height: 844 },
];

/** Boxes that hold more than they show and do not scroll, and controls that lie on each other. */
function findFaults(): string[] {
  const name = (element: Element) => `${element.tagName.toLowerCase()}.${element.className}`;
  const shown = [...document.querySelectorAll('body *')].filter(
    (element) => element.checkVisibility() && !element.matches('.spoken, .button input'),
  );
  const clipped = shown.filter((element) => {
    const { display, overflowX } = getComputedStyle(element);
    return (
      display !== 'inline' &&
      overflowX !== 'auto' &&
      element.clientWidth > 0 &&
      element.scrollWidth > element.clientWidth + 1
    );
  });
  const controls = shown.filter((element) =>
    element.matches('button, select, textarea, .button, input:not([type=file]), canvas'),
  );
  const boxes = controls.map((element) => element.getBoundingClientRect());
  const faults = clipped.map((element) => `${name(element)} is clipped`);
  for (let first = 0; first < boxes.length; first++) {
    for (let second = first + 1; second < boxes.length; second++) {
      const [a, b] = [boxes[first], boxes[second]];
      const overlaps = a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      if (overlaps) faults.push(`${name(controls[first])} lies on ${name(controls[second])}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page is wider than the window');
  return faults;
}

for (const { name, width, height } of sizes) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`nothing is clipped or covered on ${name}, ${colorScheme}`, async ({ page }, testInfo) => {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await page.goto('/');
      await page.getByRole('button', { name: 'Draw a 3' }).click();
      await expect(page.getByText('Looks like a 3')).toBeAttached();
      for (const tab of ['Modules', 'Code', 'Graph', 'Explain', 'Call']) {
        await page.getByRole('tab', { name: tab }).click();
        await expect(page.getByText('Compiling…')).toHaveCount(0);
        expect(await page.evaluate(findFaults), tab).toEqual([]);
        await page.screenshot({ path: testInfo.outputPath(`${tab}.png`), fullPage: true });
      }
    });
  }
}

test('every control has a name, and the keyboard reaches all of them', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('tab', { name: 'Modules' })).toBeVisible();
  const nameless = await page
    .getByRole('button')
    .or(page.getByRole('combobox'))
    .or(page.getByRole('textbox'))
    .evaluateAll((controls) =>
      controls
        .filter((control) => {
          const labels = (control as HTMLInputElement).labels;
          return !control.getAttribute('aria-label') && !labels?.length && !control.textContent?.trim();
        })
        .map(({ outerHTML }) => outerHTML),
    );
  expect(nameless).toEqual([]);

  const reached = new Set<string>();
  for (let press = 0; press < 40; press++) {
    await page.keyboard.press('Tab');
    reached.add(
      await page.evaluate(() => {
        const element = document.activeElement;
        return `${element?.tagName} ${element?.getAttribute('aria-label') ?? element?.textContent?.trim().slice(0, 20)}`;
      }),
    );
  }
  for (const wanted of [
    'SELECT',
    'BUTTON Handwritten digits',
    'INPUT',
    'CANVAS',
    'BUTTON Draw a 9',
    'BUTTON Draw',
    'BUTTON Modules',
  ]) {
    expect(
      [...reached].some((each) => each.startsWith(wanted)),
      wanted,
    ).toBe(true);
  }

  await page.getByRole('tab', { name: 'Modules' }).focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('tab', { name: 'Code' })).toBeFocused();
  await expect(page.getByRole('tab', { name: 'Code' })).toHaveAttribute('aria-selected', 'true');
});
