import NestModel

/// Asks for a fetch request's result and every change of it.
package struct Subscribe: Message, Equatable {
    package static let type = MessageType.subscribe

    /// The state the client holds from before: the server may answer with the difference.
    package var resume: ResumePoint?
    /// The first state must have reached this revision.
    package var atLeast: Revision
    package var request: ObjectFetchRequest

    package init(_ request: ObjectFetchRequest, resume: ResumePoint? = nil, atLeast: Revision = Revision(0)) {
        self.request = request
        self.resume = resume
        self.atLeast = atLeast
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte("resume") {
        case 0: self.resume = nil
        case 1:
            self.resume = ResumePoint(
                historyID: try reader.identifier("history id"),
                revision: try reader.revision("held revision")
            )
        default: throw DecodingFailure(.unsupported, "resume")
        }
        self.atLeast = try reader.revision("at least")
        self.request = try reader.fetchRequest()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.resume == nil ? 0 : 1)
        if let resume {
            writer.write(identifier: resume.historyID)
            writer.write(revision: resume.revision)
        }
        writer.write(revision: self.atLeast)
        writer.write(fetchRequest: self.request)
    }
}

/// Asks that a subscription be to something else from now on: another predicate, order or window.
package struct Resubscribe: Message, Equatable {
    package static let type = MessageType.resubscribe

    package var view: UInt32
    package var request: ObjectFetchRequest

    package init(view: UInt32, request: ObjectFetchRequest) {
        self.view = view
        self.request = request
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.view = try reader.view()
        self.request = try reader.fetchRequest()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.view))
        writer.write(fetchRequest: self.request)
    }
}

/// The reply: the view's id, under which its frames come, and what comes first.
package struct Subscribed: Message, Equatable {
    package static let type = MessageType.subscribed

    package var view: UInt32
    package var first: FirstState
    /// Why a resume was answered by a snapshot; empty otherwise.
    package var reason: String
    /// The properties whose values rows carry, in this order.
    package var projection: [PropertyNumber]

    package init(view: UInt32, first: FirstState, reason: String, projection: [PropertyNumber]) {
        self.view = view
        self.first = first
        self.reason = reason
        self.projection = projection
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.view = try reader.view()
        let kind = try reader.byte("first state")
        let revision = try reader.revision("revision")
        switch kind {
        case 0: self.first = .snapshot
        case 1: self.first = .difference
        case 2: self.first = .current(revision)
        case 3: self.first = .alreadySubscribed
        default: throw DecodingFailure(.unsupported, "first state")
        }
        self.reason = try reader.string("reason", max: Limits.nameBytesMax)
        self.projection = try reader.properties()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.view))
        switch self.first {
        case .snapshot:
            writer.write(byte: 0)
            writer.write(revision: Revision(0))
        case .difference:
            writer.write(byte: 1)
            writer.write(revision: Revision(0))
        case .current(let revision):
            writer.write(byte: 2)
            writer.write(revision: revision)
        case .alreadySubscribed:
            writer.write(byte: 3)
            writer.write(revision: Revision(0))
        }
        writer.write(string: self.reason)
        writer.write(properties: self.projection)
    }
}

/// A change of a view. The values of its rows depend on the projection, so the body is decoded with it:
/// `ByteReader.diff(valueCount:)`.
package struct DiffBody: OpaqueMessage, Equatable {
    package static let type = MessageType.diff
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// `hasWindow`: the view has one, whose position follows.
    package func diff(valueCount: Int, hasWindow: Bool = false) throws(DecodingFailure) -> ResultsDiff {
        try ByteReader.read(self.bytes) { (reader) throws(DecodingFailure) in
            try reader.diff(valueCount: valueCount, hasWindow: hasWindow)
        }
    }
}

/// The head of a snapshot: the rest of its sections follows in SNAPSHOT_SECTIONS frames, then its rows in SNAPSHOT_ROWS
/// frames, while the flag `more` is set.
package struct SnapshotMessage: Message, Equatable {
    package static let type = MessageType.snapshot
    /// Read from a frame: with the sections of the first frame.
    package var header: SnapshotHeader
    /// How many sections there are in all frames.
    package var sectionCount: Int

    package init(_ header: SnapshotHeader) {
        self.header = header
        self.sectionCount = header.sections.count
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        (self.header, self.sectionCount) = try reader.snapshotHeader()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(raw: self.header.bodies(sectionCount: self.sectionCount)[0])
    }
}

/// More sections of a snapshot, going on where the frame before ended.
package struct SnapshotSections: OpaqueMessage, Equatable {
    package static let type = MessageType.snapshotSections
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package func read(into header: inout SnapshotHeader, sectionCount: Int) throws(DecodingFailure) {
        var read = header
        try ByteReader.read(self.bytes) { (reader) throws(DecodingFailure) in
            try reader.snapshotSections(into: &read, sectionCount: sectionCount)
        }
        header = read
    }
}

/// Rows of a snapshot, going on where the frame before ended, in the order of its sections.
package struct SnapshotRows: OpaqueMessage, Equatable {
    package static let type = MessageType.snapshotRows
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package func rows(valueCount: Int) throws(DecodingFailure) -> [Row] {
        try ByteReader.read(self.bytes) { (reader) throws(DecodingFailure) in try reader.rows(valueCount: valueCount) }
    }
}

/// Everything up to this revision has been sent for all synced subscriptions of the connection.
package struct Progress: Message, Equatable {
    package static let type = MessageType.progress
    package var revision: Revision

    package init(revision: Revision) {
        self.revision = revision
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revision = try reader.revision("revision")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.revision)
    }
}

/// Where a window is in the whole, when that has changed and what it shows has not.
package struct Totals: Message, Equatable {
    package static let type = MessageType.totals
    package var revision: Revision
    package var window: WindowPosition

    package init(revision: Revision, window: WindowPosition) {
        self.revision = revision
        self.window = window
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revision = try reader.revision("revision")
        self.window = try reader.windowPosition()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.revision)
        writer.write(windowPosition: self.window)
    }
}

package struct Unsubscribe: Message, Equatable {
    package static let type = MessageType.unsubscribe
    package var view: UInt32

    package init(view: UInt32) {
        self.view = view
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.view = try reader.view()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.view))
    }
}

/// The server ends a subscription: nothing more comes under this view's id.
package struct SubscriptionEnd: Message, Equatable {
    package static let type = MessageType.subscriptionEnd
    package var code: ErrorCode
    package var message: String

    package init(code: ErrorCode, message: String) {
        self.code = code
        self.message = message
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.code = ErrorCode(rawValue: try reader.integer(UInt16.self, "code"))
        self.message = try reader.string("message", max: Limits.frameBytesMax)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(integer: self.code.rawValue)
        writer.write(string: self.message)
    }
}

extension ByteReader {
    /// A view's id: never one that a request could have.
    fileprivate mutating func view() throws(DecodingFailure) -> UInt32 {
        guard let view = UInt32(exactly: try self.varint("view")), view >= Limits.viewIDMin else {
            throw DecodingFailure(.outOfRange, "view")
        }
        return view
    }
}
