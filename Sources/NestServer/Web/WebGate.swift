import NIOCore
import NIOHTTP1
import NestModel

/// Decides by `Host` and `Origin` which requests the web port answers.
///
/// A page of another site can make a browser on this machine send requests here. `Origin` names that site, so the page
/// is refused. With DNS rebinding a page has a name that leads to this machine, and is of the same origin as this
/// server in the eyes of the browser: `Host` then has that name, so it must be a known one.
package struct WebGate: Sendable {
    private let isEncrypted: Bool
    private let hosts: Set<String>
    private let origins: Set<WebOrigin>

    /// `isEncrypted`: whether the port uses TLS.
    package init(_ configuration: WebConfiguration, isEncrypted: Bool) {
        self.isEncrypted = isEncrypted
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        self.hosts = Set((configuration.names + [host]).compactMap { WebAuthority($0)?.host })
        self.origins = Set(configuration.origins)
    }

    /// Throws if the request must not be answered. `address`: the address of this machine that the client reached.
    package func check(_ head: HTTPRequestHead, at address: SocketAddress?) throws(WebRefusal) {
        guard let text = try head.value("host") else { throw WebRefusal(.badRequest, "the field Host is missing") }
        guard let authority = WebAuthority(text) else {
            throw WebRefusal(.badRequest, "the field Host must be a name or an address, maybe with a port")
        }
        guard self.isOwn(authority.host, address) else {
            let name = authority.host.contains(":") ? "[\(authority.host)]" : authority.host
            throw WebRefusal(
                .misdirected,
                "this server is not \(name): to serve pages under this name, start nestd with --web-name \(name)"
            )
        }
        guard let origin = try head.value("origin") else { return }
        let own = WebOrigin(scheme: self.isEncrypted ? "https" : "http", host: authority.host, port: authority.port)
        guard let known = WebOrigin(origin), known == own || self.origins.contains(known) else {
            throw WebRefusal(
                .forbidden,
                "pages from this origin may not connect: allow it with --web-origin SCHEME://HOST:PORT"
            )
        }
    }

    private func isOwn(_ host: String, _ address: SocketAddress?) -> Bool {
        if Loopback.contains(host) || self.hosts.contains(host) { return true }
        guard let reached = address?.ipAddress else { return false }
        // A socket for IPv6 and IPv4 reports an IPv4 address as ::ffff:a.b.c.d.
        return host == reached || "::ffff:" + host == reached
    }
}
