// ruff.mjs - checks Python files with the WebAssembly build of ruff.
//
//     node ruff.mjs MODULE_FOLDER <<< '{"options": {..}, "files": [".."]}'
//
// The options are the section [tool.ruff] of pyproject.toml. Prints FILE:LINE: CODE TEXT.
import fs from "node:fs";
import { createRequire } from "node:module";

const { Workspace, PositionEncoding } = createRequire(import.meta.url)(process.argv[2]);
const { options, files } = JSON.parse(fs.readFileSync(0, "utf8"));
const workspace = new Workspace(options, PositionEncoding.Utf32);
for (const file of files) {
    for (const found of workspace.check(fs.readFileSync(file, "utf8"))) {
        console.log(`${file}:${found.start_location.row}: ${found.code ?? ""} ${found.message}`);
    }
}
