import NestModel

/// Folds and unfolds objects of an outline. DONE is the reply; a diff of what is shown comes before it.
package struct SetExpanded: Message, Equatable {
    package static let type = MessageType.setExpanded

    package var view: UInt32
    /// At least one. The last state of an object counts.
    package var states: [ExpandedState]

    package init(view: UInt32, states: [ExpandedState]) {
        self.view = view
        self.states = states
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.view = try reader.view()
        self.states = []
        let count = try reader.count("fold states", max: Limits.outlineExceptionsMax, bytesEach: 2)
        guard count > 0 else { throw DecodingFailure(.invalidValue, "fold states") }
        self.states.reserveCapacity(count)
        for _ in 0..<count {
            let object = try reader.objectID("object")
            let state = try reader.byte("fold state")
            guard state <= 1 else { throw DecodingFailure(.unsupported, "fold state") }
            self.states.append(ExpandedState(object, isExpanded: state == 1))
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.view))
        writer.write(count: self.states.count)
        for state in self.states {
            writer.write(objectID: state.object)
            writer.write(byte: state.isExpanded ? 1 : 0)
        }
    }
}
