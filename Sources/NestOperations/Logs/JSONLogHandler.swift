import Glibc
import Logging
import NestDocuments
import NestModel

/// Writes one JSON object a line: `time` (RFC 3339, UTC), `level`, `message`, and `metadata` when there is any.
package struct JSONLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let write: @Sendable ([UInt8]) -> Void

    /// `write` gets whole lines, on any thread.
    package init(_ write: @escaping @Sendable ([UInt8]) -> Void = Self.writeToStandardError) {
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var metadata = self.metadata
        if let provided = self.metadataProvider?.get() { metadata.merge(provided) { $1 } }
        if let own = event.metadata { metadata.merge(own) { $1 } }
        if let error = event.error { metadata["error"] = "\(error)" }
        var json = JSONWriter()
        json.object { json in
            json.field("time", DateText.text(microseconds: Self.now()))
            json.field("level", event.level.rawValue)
            json.field("message", event.message.description)
            guard !metadata.isEmpty else { return }
            json.key("metadata")
            Self.write(.dictionary(metadata), &json)
        }
        self.write(json.bytes + [UInt8(ascii: "\n")])
    }

    private static func write(_ value: Logger.Metadata.Value, _ json: inout JSONWriter) {
        switch value {
        case .string(let text): json.string(text)
        case .stringConvertible(let value): json.string(value.description)
        case .array(let values): json.array(values) { Self.write($1, &$0) }
        case .dictionary(let values):
            json.object { json in
                for (name, value) in values.sorted(by: { $0.key < $1.key }) {
                    json.key(name)
                    Self.write(value, &json)
                }
            }
        }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// Writes each line in one call, so that lines of several threads do not mix.
    package static let writeToStandardError: @Sendable ([UInt8]) -> Void = { line in
        // A failure to write the log can be reported nowhere.
        _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
