import NestProtocol
import NestEngine
import NestModel
import NestFraming
import NestStore

/// One frame of an effect, before it is written to a buffer.
struct EffectFrame {
    var type: MessageType
    var flags: Frame.Flags
    var body: Body

    enum Body {
        /// Never compressed.
        case plain([UInt8])
        /// Large enough to be compressed for clients that support it.
        case compressible(SharedBytes)
    }

    init(_ message: some Message, flags: Frame.Flags = []) {
        self.init(type: Swift.type(of: message).type, flags: flags, body: message.body)
    }

    init(type: MessageType, flags: Frame.Flags = [], body: [UInt8]) {
        self.type = type
        self.flags = flags
        let isCompressible = type.mayBeCompressed && body.count >= Limits.frameCompressedBytesMin
        self.body = isCompressible ? .compressible(SharedBytes(body)) : .plain(body)
    }

    /// A frame whose body may be shared with other frames. Precondition: `type.mayBeCompressed`.
    init(type: MessageType, flags: Frame.Flags = [], shared body: SharedBytes) {
        self.type = type
        self.flags = flags
        let isCompressible = body.bytes.count >= Limits.frameCompressedBytesMin
        self.body = isCompressible ? .compressible(body) : .plain(body.bytes)
    }

    /// The size of the body without compression.
    var bodyByteCount: Int {
        switch self.body {
        case .plain(let bytes): bytes.count
        case .compressible(let shared): shared.bytes.count
        }
    }
}

extension EngineReply {
    /// Calls `write` with each frame of the reply, in order. `isLast`: whether it is the last one.
    ///
    /// `serverStatistics` returns the statistics that the I/O layer adds to the engine's own.
    func forEachFrame(
        serverStatistics: () -> [Statistic],
        _ write: (EffectFrame, _ isLast: Bool) -> Void
    ) {
        switch self {
        case .failure(let error): write(EffectFrame(ErrorMessage(error)), true)
        case .receipt(let receipt): write(EffectFrame(ReceiptMessage(receipt)), true)
        case .subscribed(let view, let first, let reason, let projection):
            write(EffectFrame(Subscribed(view: view, first: first, reason: reason, projection: projection)), true)
        case .done: write(EffectFrame(Done()), true)
        case .answer(let message, _): write(EffectFrame(message), true)
        case .snapshot(let header, let rows, let totals):
            if let totals { write(EffectFrame(type: .resultTotals, flags: .more, body: totals), false) }
            forEachSnapshotFrame(header, rows: rows, write)
        case .object(let object): write(EffectFrame(type: .object, body: object.bytes), true)
        case .reserved(let first, let count):
            write(EffectFrame(ReservedIDsMessage(first: first, count: count)), true)
        case .value(let value, let type): write(EffectFrame(ValueMessage(value, type)), true)
        case .tokenCreated(let number): write(EffectFrame(TokenCreated(number: number)), true)
        case .present(let number): write(EffectFrame(Present(number: number)), true)
        case .group(let number): write(EffectFrame(Group(number: number)), true)
        case .undoState(let state): write(EffectFrame(UndoStateMessage(state)), true)
        case .statistics(let values): write(EffectFrame(Statistics(values + serverStatistics())), true)
        }
    }
}

extension EnginePush {
    func forEachFrame(_ write: (EffectFrame, _ isLast: Bool) -> Void) {
        if let totals { write(EffectFrame(type: .resultTotals, body: totals), false) }
        switch self.content {
        case .diff(let body): write(EffectFrame(type: .diff, body: body), true)
        case .snapshot(let header, let rows): forEachSnapshotFrame(header, rows: rows, write)
        case .position(let position, let revision):
            write(EffectFrame(Totals(revision: revision, window: position)), true)
        case .totals(let body): write(EffectFrame(type: .resultTotals, body: body), true)
        case .changeSet(let body): write(EffectFrame(type: .changeSet, shared: body), true)
        case .end(let code, let message):
            write(EffectFrame(SubscriptionEnd(code: code, message: message)), true)
        }
    }
}

private func forEachSnapshotFrame(
    _ header: SnapshotHeader,
    rows: [SharedBytes],
    _ write: (EffectFrame, _ isLast: Bool) -> Void
) {
    let heads = header.bodies
    let count = heads.count + rows.count
    for (index, body) in heads.enumerated() {
        let isLast = index == count - 1
        let type = index == 0 ? MessageType.snapshot : .snapshotSections
        write(EffectFrame(type: type, flags: isLast ? [] : .more, body: body), isLast)
    }
    for (index, body) in rows.enumerated() {
        let isLast = index == rows.count - 1
        write(EffectFrame(type: .snapshotRows, flags: isLast ? [] : .more, shared: body), isLast)
    }
}
