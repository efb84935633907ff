/// The settings of the port for web pages.
package struct WebConfiguration: Sendable {
    package var host: String
    /// 0: any free port.
    package var port: Int
    /// Names under which browsers reach the port, besides `localhost` and its addresses.
    package var names: [String]
    /// Origins of pages from elsewhere that may connect.
    package var origins: [WebOrigin]
    /// The directory whose files are served; `nil`: none is.
    package var root: String?
    /// The page that is served where the directory has no file; `nil`: there is none.
    package var page: WebPage?

    package init(
        host: String,
        port: Int,
        names: [String] = [],
        origins: [WebOrigin] = [],
        root: String? = nil,
        page: WebPage? = nil
    ) {
        self.host = host
        self.port = port
        self.names = names
        self.origins = origins
        self.root = root
        self.page = page
    }
}
