/// The settings of the port for web pages.
package struct WebConfiguration: Sendable {
    package var host: String
    /// 0: any free port.
    package var port: Int
    /// Names under which browsers reach the port, besides `localhost` and its addresses.
    package var names: [String]
    /// Origins of pages from elsewhere that may connect.
    package var origins: [WebOrigin]
    /// The directory whose files are served; `nil`: the built-in page only.
    package var root: String?

    package init(
        host: String,
        port: Int,
        names: [String] = [],
        origins: [WebOrigin] = [],
        root: String? = nil
    ) {
        self.host = host
        self.port = port
        self.names = names
        self.origins = origins
        self.root = root
    }
}
