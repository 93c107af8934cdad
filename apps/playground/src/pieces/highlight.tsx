import type { JSX } from 'preact';

/** Kinds of words that are coloured; a name is a class in the style sheet. */
export type Syntax = 'python' | 'graph' | 'wgsl' | 'wat';

const pythonWords =
  'and|as|assert|break|class|continue|def|del|elif|else|for|from|if|import|in|is|lambda|not|or|pass|raise|return|while|with|None|True|False|self';

const wgslWords =
  'fn|var|let|const|return|if|else|for|while|loop|break|continue|struct|switch|case|default|enable|override';

const patterns: Record<Syntax, RegExp> = {
  python: new RegExp(
    String.raw`(?<comment>#[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?<word>\b(?:${pythonWords})\b)|(?<type>\b[A-Z]\w*\b)|(?<number>\b\d[\d.e+-]*)`,
    'g',
  ),
  wgsl: new RegExp(
    String.raw`(?<comment>//[^\n]*)|(?<operator>@\w+)|(?<word>\b(?:${wgslWords})\b)|(?<type>\b(?:[fiu]32|f16|bool|(?:vec|mat)\w+|array|atomic)\b)|(?<number>\b\d[\w.]*)`,
    'g',
  ),
  wat: /(?<string>"[^"\n]*")|(?<word>\b(?:module|import|memory|func|export|param|result|local(?!\.)|block|loop|if|else|end|br_if|br|call)\b)|(?<type>\b(?:[if](?:32|64)|v128|[if]\d+x\d+)\b)|(?<value>\$\w+)|(?<number>\b-?\d\w*)/g,
  graph:
    /(?<comment>#[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*")|(?<word>\b(?:graph|return|block\d+|with)\b)|(?<operator>\b(?:aten|prim|prims|quantized|torchvision)::[\w.]+)|(?<value>%[\w.]+)/g,
};

/** Program text with its words in colours. */
export function Highlighted({ text, syntax, label }: { text: string; syntax: Syntax; label: string }) {
  const parts: (string | JSX.Element)[] = [];
  let end = 0;
  for (const match of text.matchAll(patterns[syntax])) {
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0];
    parts.push(text.slice(end, match.index), <span class={`syntax-${kind}`}>{match[0]}</span>);
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return (
    <pre class="source" tabIndex={0} role="region" aria-label={label}>
      <code>{parts}</code>
    </pre>
  );
}
