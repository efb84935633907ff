import Foundation
import NestOperations
import NestPage
import NestServer

/// The settings of the port for browsers.
struct WebSettings {
    let configuration: WebConfiguration

    /// `nil`: there is no such port. The settings must have no faults.
    init?(_ settings: ServiceSettings) {
        guard let address = settings.text(.web).flatMap(Self.address) else { return nil }
        self.configuration = WebConfiguration(
            host: address.host,
            port: address.port,
            names: Self.list(settings.text(.webNames)),
            origins: Self.list(settings.text(.webOrigins)).compactMap { WebOrigin($0) },
            root: settings.text(.webRoot),
            page: settings.flag(.webPage) ?? (settings.text(.webRoot) == nil) ? Self.page : nil
        )
    }

    /// The page inside nestd.
    private static var page: WebPage {
        let files = PageFile.all.map { file in
            (file.path, WebPage.File(path: file.path, version: file.tag, text: file.text))
        }
        return WebPage(
            files: Dictionary(uniqueKeysWithValues: files),
            index: PageFile.index,
            places: PageFile.places
        )
    }

    /// The host that the port listens on; `nil`: none, or the setting is wrong.
    static func host(_ settings: ServiceSettings) -> String? { settings.text(.web).flatMap(self.address)?.host }

    /// The URL of the first page, for the person who has started nestd.
    static func url(host: String, port: Int, isEncrypted: Bool) -> String {
        // No browser can open the address that stands for all addresses.
        let name = ["0.0.0.0", "::"].contains(host) ? "localhost" : host.contains(":") ? "[\(host)]" : host
        return "\(isEncrypted ? "https" : "http")://\(name):\(port)/"
    }

    // MARK: Faults

    /// The faults of the settings: options that do not belong together, and texts that cannot be read.
    static func faults(_ settings: ServiceSettings) -> [String] {
        guard let text = settings.text(.web) else {
            return [Setting.webRoot, .webPage, .webNames, .webOrigins].filter { settings.has($0) }.map { setting in
                let web = settings.spelling(of: .web, besides: setting)
                return "\(settings.spelling(of: setting)) needs \(web): without it no browser is served"
            }
        }
        var faults: [String] = []
        if self.address(text) == nil {
            let name = settings.spelling(of: .web)
            faults.append("\(name) must be a host and a port, such as 127.0.0.1:7080 or [::1]:7080, not \(text)")
        }
        for name in self.list(settings.text(.webNames)) where WebAuthority(name).map({ $0.port != nil }) ?? true {
            let option = settings.spelling(of: .webNames)
            faults.append("\(option) must be a name without a port, such as nest.example.org, not \(name)")
        }
        for origin in self.list(settings.text(.webOrigins)) where WebOrigin(origin) == nil {
            let option = settings.spelling(of: .webOrigins)
            faults.append(
                "\(option) must be a scheme, a host and maybe a port, such as https://app.example.org, not \(origin)"
            )
        }
        if let root = settings.text(.webRoot) {
            var isDirectory: ObjCBool = false
            if !FileManager.default.fileExists(atPath: root, isDirectory: &isDirectory) || !isDirectory.boolValue {
                faults.append("\(settings.spelling(of: .webRoot)): there is no directory \(root)")
            }
        }
        return faults
    }

    private static func list(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Reads HOST:PORT. The host of an IPv6 address is in brackets.
    private static func address(_ text: String) -> (host: String, port: Int)? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let authority = WebAuthority(String(text[..<colon])), authority.port == nil
        else { return nil }
        return (authority.host, Int(port))
    }
}
