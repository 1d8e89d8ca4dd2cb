// Rules for the report's scripts; `make lint` runs them, and TypeScript reads the types in their comments.
import js from "@eslint/js";

const BROWSER = [
  "Blob", "DOMException", "DecompressionStream", "ImageData", "Path2D", "ResizeObserver", "Response", "atob",
  "clearTimeout", "createImageBitmap", "document", "getComputedStyle", "performance", "requestAnimationFrame",
  "setTimeout", "window",
];
const ONE_NAME = "Program > VariableDeclaration[declarations.length>1], "
  + "ExportNamedDeclaration > VariableDeclaration[declarations.length>1], "
  + "Program > VariableDeclaration > VariableDeclarator[id.type!='Identifier']";

export default [
  { ignores: ["docs/_build/**", ".venv*/**"] },  // the site that `make docs` leaves, and environments
  js.configs.recommended,
  {
    files: ["**/*.js"],
    languageOptions: { globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])) },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "max-len": ["error", { code: 110 }],
      "max-lines": ["error", 300],
      complexity: ["error", 15],
      eqeqeq: "error",
      "no-shadow": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-var": "error",
      "prefer-const": "error",
      // Joined to one script, modules share a scope; the step that joins them reads one name per statement.
      "no-restricted-syntax": ["error", { selector: ONE_NAME, message: "Declare one name in a statement." }],
    },
  },
  { ignores: ["node_modules/", ".venv*/", "demo/", "reproduction*/"] },
];
