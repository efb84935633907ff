/// A file of the page, or a module of the JavaScript client that it uses. The build makes `PageFile.all` of the
/// directories `Page` and `Clients/js`, so that nestd needs no files beside it.
package struct PageFile: Sendable {
    /// Its path in addresses, such as `page/app.js`.
    package let path: String
    /// Its version: another text has another one.
    package let tag: String
    package let text: StaticString

    /// The page's only document. Its script shows what the address names.
    package static let index = "page/index.html"
    /// The first names of the addresses that the script knows.
    package static let places = ["outline", "explore", "history", "server", "wire"]
}
