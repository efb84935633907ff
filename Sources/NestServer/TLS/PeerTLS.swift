import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

/// The side of TLS of a node that connects to another node: version 1.3, from the first byte. The other node's
/// certificate is verified, with the host of its address; this node shows its own, for nodes that require one.
package final class PeerTLS: Sendable {
    private let files: ServerTLS.Files
    private let authority: String?
    private let context: NIOLockedValueBox<NIOSSLContext>

    /// `authority`: the file with the certificates of the authorities that sign the nodes' certificates, in PEM; `nil`:
    /// the system's. Reads the files. Blocks.
    package init(_ files: ServerTLS.Files, authority: String?) throws(ServerTLS.Failure) {
        self.files = files
        self.authority = authority
        self.context = NIOLockedValueBox(try Self.context(files, authority))
    }

    /// Reads the files again. Returns a closure that makes new connections use them. Blocks.
    package func prepared() throws(ServerTLS.Failure) -> @Sendable () -> Void {
        let context = try Self.context(self.files, self.authority)
        return { self.context.withLockedValue { $0 = context } }
    }

    /// Returns the first handlers of a connection to a host.
    func makeHandlers(host: String) throws -> [any ChannelHandler] {
        // An IP address is not a name: the certificate is compared with the address instead.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        let context = self.context.withLockedValue { $0 }
        return [try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)]
    }

    private static func context(
        _ files: ServerTLS.Files,
        _ authority: String?
    ) throws(ServerTLS.Failure) -> NIOSSLContext {
        let (chain, key) = try ServerTLS.identity(files)
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = [ServerTLS.applicationProtocol]
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
        if let authority { configuration.trustRoots = .certificates(try ServerTLS.certificates(authority)) }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw ServerTLS.Failure(description: "no connection to other nodes is possible: \(LogText.reason(error))")
        }
    }
}
