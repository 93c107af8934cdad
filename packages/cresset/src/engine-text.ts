/** The engine's file as a text; the build puts it here. */
export default __ENGINE_TEXT__;
