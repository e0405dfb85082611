// A place to draw a molecule. The editor is large, so it is loaded when it is opened for the first time.

import { h } from "./dom.js";

let library = null;

export async function makeMolecule(smiles, changed) {
  library ??= import("./vendor/openchemlib.min.mjs");
  const { CanvasEditor, Molecule } = await library;
  const box = h("div", { class: "molecule", role: "group", "aria-label": "A place to draw a molecule with a mouse or a finger; with the keyboard, use Text and enter SMILES" });
  let editor = null;
  return {
    element: box,
    start() {
      if (editor) return;
      editor = new CanvasEditor(box, { initialMode: "molecule" });
      if (smiles) this.load(smiles);
      editor.setOnChangeListener((event) => { if (event.isUserEvent && event.type === "molecule") changed(this.read()); });
    },
    load(text) {
      try {
        editor.setMolecule(Molecule.fromSmiles(text));
      } catch { /* SMILES that the editor cannot read stay in the text field */ }
    },
    read() {
      const molecule = editor?.getMolecule();
      return molecule && molecule.getAllAtoms() ? molecule.toIsomericSmiles() : "";
    },
  };
}
