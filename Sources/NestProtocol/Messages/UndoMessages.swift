import NestModel

/// Undoes the newest entry of the session's undo stack.
package struct Undo: UndoMessage, Equatable {
    package static let type = MessageType.undo
    package var key: Identifier128?
    package var options: UndoOptions
    package var expected: Revision?

    package init(key: Identifier128?, options: UndoOptions = UndoOptions(), expected: Revision? = nil) {
        self.key = key
        self.options = options
        self.expected = expected
    }
}

/// Redoes the last undone entry.
package struct Redo: UndoMessage, Equatable {
    package static let type = MessageType.redo
    package var key: Identifier128?
    package var options: UndoOptions
    package var expected: Revision?

    package init(key: Identifier128?, options: UndoOptions = UndoOptions(), expected: Revision? = nil) {
        self.key = key
        self.options = options
        self.expected = expected
    }
}

/// A write that pops an entry from a stack of its session.
package protocol UndoMessage: Message {
    var key: Identifier128? { get }
    var options: UndoOptions { get }
    /// The revision of the entry to undo or redo; if it is no longer the newest, the request is refused with CONFLICT.
    var expected: Revision? { get }
    init(key: Identifier128?, options: UndoOptions, expected: Revision?)
}

extension UndoMessage {
    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let key = try reader.key()
        guard !reader.isAtEnd else {
            self.init(key: key, options: UndoOptions(), expected: nil)
            return
        }
        let options = try reader.undoOptions()
        let expected = try reader.revision("expected entry")
        self.init(key: key, options: options, expected: expected == Revision(0) ? nil : expected)
    }

    /// Writes the key only, if the rest has default values.
    package func encode(into writer: inout ByteWriter) {
        writer.write(key: self.key)
        guard self.options != UndoOptions() || self.expected != nil else { return }
        writer.write(undoOptions: self.options)
        writer.write(revision: self.expected ?? Revision(0))
    }
}

/// Undoes any past transaction, as a new entry of the requesting session.
package struct Revert: Message, Equatable {
    package static let type = MessageType.revert
    package var key: Identifier128?
    package var options: UndoOptions
    package var revision: Revision
    /// Whether transactions of other sessions may be undone.
    package var ofAnyone: Bool

    package init(key: Identifier128?, options: UndoOptions, revision: Revision, ofAnyone: Bool) {
        self.key = key
        self.options = options
        self.revision = revision
        self.ofAnyone = ofAnyone
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.key = try reader.key()
        self.options = try reader.undoOptions()
        self.revision = try reader.revision("revision")
        self.ofAnyone = try reader.byte("of anyone") != 0
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(key: self.key)
        writer.write(undoOptions: self.options)
        writer.write(revision: self.revision)
        writer.write(byte: self.ofAnyone ? 1 : 0)
    }
}

/// Requests a preview of an undo, without executing it.
package struct PreviewUndo: Query, Equatable {
    package typealias Answer = UndoPreviewMessage
    package static let type = MessageType.previewUndo
    package var target: UndoTarget
    package var options: UndoOptions

    package init(_ target: UndoTarget, options: UndoOptions = UndoOptions()) {
        self.target = target
        self.options = options
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let kind = try reader.byte("what to preview")
        self.options = try reader.undoOptions()
        switch kind {
        case 0: self.target = .undo
        case 1: self.target = .redo
        case 2:
            let revision = try reader.revision("revision")
            self.target = .revert(revision, ofAnyone: try reader.byte("of anyone") != 0)
        default: throw DecodingFailure(.unsupported, "what to preview")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        switch self.target {
        case .undo: writer.write(byte: 0)
        case .redo: writer.write(byte: 1)
        case .revert: writer.write(byte: 2)
        }
        writer.write(undoOptions: self.options)
        guard case .revert(let revision, let ofAnyone) = self.target else { return }
        writer.write(revision: revision)
        writer.write(byte: ofAnyone ? 1 : 0)
    }
}

/// The reply: the changes that the undo would make now.
package struct UndoPreviewMessage: Message, Equatable {
    package static let type = MessageType.undoPreview
    package var preview: UndoPreview

    package init(_ preview: UndoPreview) {
        self.preview = preview
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.preview = try reader.undoPreview()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(undoPreview: self.preview)
    }
}

/// Requests the session's undo state.
package struct GetUndoState: Message, Equatable {
    package static let type = MessageType.getUndoState
    /// Whether the server then notifies the connection of each change of the state.
    package var follows: Bool

    package init(follows: Bool) {
        self.follows = follows
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.follows = try reader.byte("follows") != 0
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.follows ? 1 : 0)
    }
}

/// The session's undo state, as the reply, and with id 0 as each later state.
package struct UndoStateMessage: Message, Equatable {
    package static let type = MessageType.undoState
    package var state: UndoState

    package init(_ state: UndoState) {
        self.state = state
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.state = try reader.undoState()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(undoState: self.state)
    }
}
