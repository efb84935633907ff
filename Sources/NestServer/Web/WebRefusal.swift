/// The answer to a request that the web port does not accept: an HTTP status, and a text for the person who reads it.
package struct WebRefusal: Error, Equatable, Sendable {
    package enum Status: Int, Sendable {
        case badRequest = 400
        case forbidden = 403
        case notFound = 404
        case methodNotAllowed = 405
        case timedOut = 408
        case misdirected = 421
        case upgradeRequired = 426
        case headTooLarge = 431
        case unavailable = 503
        case versionNotSupported = 505

        /// Whether the connection can serve another request: its next byte is known to begin one.
        var keepsConnection: Bool { self == .notFound }
    }

    package let status: Status
    package let text: String

    package init(_ status: Status, _ text: String) {
        self.status = status
        self.text = text
    }
}
