/** An export of a module of the operator, such as `./file.mjs#name`. */
export const MODULE_EXPORT = /^[^#]+#[A-Za-z_$][\w$]*$/;
