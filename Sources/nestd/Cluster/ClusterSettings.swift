import Glibc
import NestModel
import NestOperations
import NestProtocol
import NestServer
import NestStore

/// The settings of a node of a cluster.
struct ClusterSettings {
    /// Where the log is.
    let url: String
    /// The node's name.
    let node: String
    /// HOST:PORT under which others reach the node; `nil`: where it listens.
    let advertised: String?

    /// `nil`: the node is not in a cluster.
    init?(_ settings: ServiceSettings) {
        guard let url = settings.text(.logURL) else { return nil }
        self.url = url
        self.node = settings.text(.node) ?? Self.machineName
        self.advertised = settings.text(.advertise)
    }

    private static func address(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private static var machineName: String {
        var name = [CChar](repeating: 0, count: Limits.nodeAddressBytesMax + 1)
        guard gethostname(&name, name.count - 1) == 0 else { return "node" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty ? "node" : text
    }

    /// `model`: the one that the operator specified.
    func replica(
        host: String,
        port: Int,
        model: ManagedObjectModel?,
        onWaiting: @escaping @Sendable (String?) -> Void
    ) -> ReplicaConfiguration {
        let (url, node) = (self.url, self.node)
        let address = self.advertised ?? Self.address(host, port)
        return ReplicaConfiguration(storeName: ClusterSupport.storeName, model: model, onWaiting: onWaiting) {
            () throws(LogFailure) in try ClusterSupport.connect(url, node: node, address: address)
        }
    }

    // MARK: Faults

    /// The faults of the settings: options that do not belong together, and addresses that are of no use.
    static func faults(_ settings: ServiceSettings) -> [String] {
        guard settings.text(.logURL) != nil else {
            return [Setting.node, .advertise].filter { settings.text($0) != nil }.map { setting in
                let log = settings.spelling(of: .logURL, besides: setting)
                return "\(settings.spelling(of: setting)) needs \(log): only a node of a cluster has it"
            }
        }
        guard ClusterSupport.isBuiltIn else { return [ClusterSupport.missing(settings.spelling(of: .logURL))] }
        var faults: [String] = []
        if let url = settings.text(.logURL), let fault = ClusterSupport.fault(ofURL: url) {
            faults.append("\(settings.spelling(of: .logURL)): \(fault)")
        }
        if let node = settings.text(.node), !self.isName(node) {
            let name = settings.spelling(of: .node)
            faults.append("\(name) must be one line of at most \(Limits.nodeAddressBytesMax) bytes")
        }
        if let address = settings.text(.advertise) {
            if !self.isAddress(address) {
                let name = settings.spelling(of: .advertise)
                faults.append("\(name) must be a host and a port, such as a.example:7000 or [::1]:7000, not \(address)")
            }
        } else if let host = settings.text(.host), self.wildcards.contains(host) {
            let name = settings.spelling(of: .advertise, besides: .host)
            faults.append(
                "\(host) does not name this machine to other nodes: specify with \(name) where they reach this one, "
                    + "such as a.example:7000"
            )
        }
        return faults
    }

    private static let wildcards = ["0.0.0.0", "::", "0:0:0:0:0:0:0:0"]

    private static func isName(_ text: String) -> Bool {
        text.utf8.count <= Limits.nodeAddressBytesMax
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard self.isName(text), !text.contains(" "), let colon = text.lastIndex(of: ":") else { return false }
        let host = text[..<colon]
        let isWhole = host.hasPrefix("[") ? host.hasSuffix("]") && host.count > 2 : !host.contains(":")
        guard isWhole, !host.isEmpty, let port = UInt16(text[text.index(after: colon)...]) else { return false }
        return port > 0
    }
}
