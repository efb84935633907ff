import Foundation

/// A fault in the meaning of valid JSON.
struct JSONFault: Error {
    var message: String
}

/// Decodes one JSON text with Foundation, and turns every fault in it into one error. All JSON documents are read here.
enum JSONText {
    /// The location of a text in its file.
    struct Source {
        var start = TextLocation()
        /// Whether the file has exactly this text, so that an index in the text gives a location in the file.
        var isVerbatim = true
        /// Whether a fault without a known location is reported at `start`; otherwise only the line is reported, if the
        /// text has only one.
        var startsItem = false
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: some Collection<UInt8>,
        _ source: Source,
        _ context: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(FormatError) -> Value {
        let data = Data(bytes)
        if let index = UTF8Text.firstInvalid(data) {
            throw Self.failure(at: index, in: data, source, "not valid UTF-8")
        }
        // The decoder would take the text for UTF-16.
        if let index = data.firstIndex(of: 0) { throw Self.failure(at: index, in: data, source, "a NUL byte") }
        let decoder = JSONDecoder()
        decoder.userInfo = context
        do {
            return try decoder.decode(type, from: data)
        } catch let fault as JSONFault {
            throw Self.failure(at: nil, in: data, source, fault.message)
        } catch {
            throw Self.syntaxError(in: data, source)
        }
    }

    /// Returns the error for invalid JSON. On Linux the decoder reports only that the text is invalid;
    /// `JSONSerialization` reports the reason, and mostly the location.
    private static func syntaxError(in data: Data, _ source: Source) -> FormatError {
        let (reason, index) = Self.reason(data)
        let message = reason.isEmpty ? "not valid JSON" : "not valid JSON: \(reason)"
        return Self.failure(at: index, in: data, source, message)
    }

    private static func reason(_ data: Data) -> (reason: String, index: Int?) {
        do {
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
            return ("", nil)
        } catch {
            let reason = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? ""
            if let match = reason.wholeMatch(of: /(.+) around character (\d+)\./), let index = Int(match.2) {
                return (String(match.1), index)
            }
            let isAtEnd = reason.hasPrefix("Unexpected end of file")
            return (reason.hasSuffix(".") ? String(reason.dropLast()) : reason, isAtEnd ? data.count : nil)
        }
    }

    /// `index` is `nil` when the location of the fault in the text is unknown.
    private static func failure(at index: Int?, in data: Data, _ source: Source, _ message: String) -> FormatError {
        if let index, source.isVerbatim {
            return FormatError(at: index, in: data, start: source.start, message)
        }
        if source.startsItem { return source.start.failure(message) }
        let isOneLine = !data.contains(UInt8(ascii: "\n"))
        return FormatError(line: isOneLine ? source.start.line : 0, message)
    }
}
