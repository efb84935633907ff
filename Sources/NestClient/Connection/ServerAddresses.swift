import NestModel
import NestProtocol

/// The addresses of servers that have the same store, such as the nodes of a cluster, as people write them:
/// `a,b:7001,c`. Each is a ``ServerAddress``. `nest://` may precede the list, or `nests://` for TLS with all of them;
/// after that, a slash and the name of the store may follow: `nest://a,b,c/default`.
public struct ServerAddresses: Hashable, Sendable, CustomStringConvertible {
    /// At least one, and none twice, in the order in which they were written.
    public let all: [ServerAddress]
    /// The name of the store that the servers must have; `nil`: any.
    public let store: String?

    public init(_ address: ServerAddress) {
        self.all = [address]
        self.store = nil
    }

    /// Reads a list of addresses. Throws with the code `invalid`, and says which part is wrong.
    public init(_ text: String) throws(NestError) {
        var parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= Limits.serverAddressesMax else {
            throw Self.failure(text, "has more than \(Limits.serverAddressesMax) addresses")
        }
        if parts.count > 1, parts.contains("") { throw Self.failure(text, "has no address between two commas") }
        self.store = parts[0].contains("://") ? Self.removeStore(&parts[parts.count - 1]) : nil
        var addresses: [ServerAddress] = []
        for part in parts {
            var address = try ServerAddress(part)
            let hasScheme = part.contains("://")
            if let first = addresses.first {
                guard !hasScheme || parts[0].contains("://") else {
                    throw Self.failure(text, "has '\(part)' behind an address without nest:// or nests://")
                }
                guard !hasScheme || address.usesTLS == first.usesTLS else {
                    throw Self.failure(text, "has both nest:// and nests://, but TLS is for all addresses or for none")
                }
                address.usesTLS = first.usesTLS
            }
            if !addresses.contains(address) { addresses.append(address) }
        }
        self.all = addresses
    }

    public var usesTLS: Bool { self.all[0].usesTLS }

    /// `HOST:PORT,HOST:PORT`; with the name of a store, `nest://HOST:PORT,HOST:PORT/STORE`.
    public var description: String {
        let list = self.all.map(\.description).joined(separator: ",")
        return self.store.map { "nest://\(list)/\($0)" } ?? list
    }

    /// The description, with `nests://` if `usesTLS`.
    package func text(usesTLS: Bool) -> String {
        guard usesTLS else { return self.description }
        return "nests://" + self.all.map(\.description).joined(separator: ",") + (self.store.map { "/\($0)" } ?? "")
    }

    /// Removes the name of the store from the last part. A slash without a name stays: it belongs to the address.
    private static func removeStore(_ part: inout String) -> String? {
        let start = part.firstRange(of: "://")?.upperBound ?? part.startIndex
        guard let slash = part[start...].firstIndex(of: "/") else { return nil }
        let name = String(part[part.index(after: slash)...])
        guard !name.isEmpty, name.utf8.count <= Limits.nameBytesMax, !name.contains(where: { "/?#@".contains($0) })
        else { return nil }
        part = String(part[..<slash])
        return name
    }

    private static func failure(_ text: String, _ what: String) -> NestError {
        NestError(
            .invalid,
            "'\(text)' is not a list of servers: it \(what). A list is HOST:PORT,HOST:PORT, such as "
                + "a.example:7000,b.example:7000"
        )
    }
}
