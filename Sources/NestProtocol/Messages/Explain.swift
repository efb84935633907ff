import NestModel

/// Requests an explanation of how the server finds the rows of a fetch request, and what following them costs. Ignores
/// the request's window.
package struct Explain: Query, Equatable {
    package typealias Answer = ExplanationMessage
    package static let type = MessageType.explain
    package var request: ObjectFetchRequest

    package init(_ request: ObjectFetchRequest) {
        self.request = request
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.request = try reader.fetchRequest()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(fetchRequest: self.request)
    }
}

package struct ExplanationMessage: Message, Equatable {
    package static let type = MessageType.explanation
    package var explanation: Explanation

    package init(_ explanation: Explanation) {
        self.explanation = explanation
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.explanation = try reader.explanation()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(explanation: self.explanation)
    }
}
