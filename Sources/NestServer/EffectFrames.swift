import NestEngine
import NestModel
import NestWire

/// One frame of an effect, before it is written anywhere.
struct EffectFrame {
    var type: MessageType
    var flags: Frame.Flags
    var body: [UInt8]

    init(_ message: some Message, flags: Frame.Flags = []) {
        self.init(type: Swift.type(of: message).type, flags: flags, body: message.body)
    }

    init(type: MessageType, flags: Frame.Flags = [], body: [UInt8]) {
        self.type = type
        self.flags = flags
        self.body = body
    }
}

extension EngineReply {
    /// Calls `write` with each frame of the reply, in order; `isLast` with the one that ends it.
    ///
    /// `serverStatistics` are what the rim adds to the engine's own.
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
        case .snapshot(let header, let rows): forEachSnapshotFrame(header, rows: rows, write)
        case .object(let object): write(EffectFrame(ObjectMessage(object)), true)
        case .history(let entries): write(EffectFrame(History(entries)), true)
        case .tokenCreated(let number): write(EffectFrame(TokenCreated(number: number)), true)
        case .tokens(let tokens): write(EffectFrame(TokenList(tokens)), true)
        case .group(let number): write(EffectFrame(Group(number: number)), true)
        case .undoPreview(let preview): write(EffectFrame(UndoPreviewMessage(preview)), true)
        case .undoState(let state): write(EffectFrame(UndoStateMessage(state)), true)
        case .explanation(let explanation): write(EffectFrame(ExplanationMessage(explanation)), true)
        case .statistics(let values): write(EffectFrame(Statistics(values + serverStatistics())), true)
        }
    }
}

extension EnginePush {
    func forEachFrame(_ write: (EffectFrame, _ isLast: Bool) -> Void) {
        switch self.content {
        case .diff(let body): write(EffectFrame(type: .diff, body: body), true)
        case .snapshot(let header, let rows): forEachSnapshotFrame(header, rows: rows, write)
        case .position(let position, let revision):
            write(EffectFrame(Totals(revision: revision, window: position)), true)
        case .changeSet(let body): write(EffectFrame(type: .changeSet, body: body), true)
        case .end(let code, let message):
            write(EffectFrame(SubscriptionEnd(code: code, message: message)), true)
        }
    }
}

private func forEachSnapshotFrame(
    _ header: SnapshotHeader,
    rows: [[UInt8]],
    _ write: (EffectFrame, _ isLast: Bool) -> Void
) {
    var bodies = header.bodies.map { (MessageType.snapshotSections, $0) } + rows.map { (.snapshotRows, $0) }
    bodies[0].0 = .snapshot
    for (index, (type, body)) in bodies.enumerated() {
        let isLast = index == bodies.count - 1
        write(EffectFrame(type: type, flags: isLast ? [] : .more, body: body), isLast)
    }
}
