import NestModel

/// All message types of the protocol. `c` is sent by clients, `s` by the server.
package enum MessageType: UInt8, CaseIterable, Sendable {
    case hello = 0x01  // c  id 0
    case welcome = 0x02  // s  id 0
    case error = 0x04  // s  id of the request, or 0
    case goAway = 0x05  // cs id 0
    case ping = 0x06  // cs id 0
    case pong = 0x07  // cs id 0
    case cancel = 0x09  // c  id of the request
    case credit = 0x0a  // cs id of the transfer's request
    case done = 0x0b  // s  reply without content

    case transaction = 0x10  // c
    case receipt = 0x11  // s  reply to a write
    case undo = 0x12  // c
    case redo = 0x13  // c
    case getHistory = 0x14  // c
    case history = 0x15  // s  reply

    case fetch = 0x18  // c
    case getObject = 0x1a  // c
    case object = 0x1b  // s  reply

    case fetchSubtree = 0x20  // c
    case importSubtree = 0x21  // c
    case subtreeStart = 0x22  // s  first reply to fetchSubtree
    case subtreeChunk = 0x23  // cs
    case subtreeEnd = 0x24  // cs last of a stream
    case putValue = 0x25  // c
    case getValue = 0x26  // c
    case value = 0x27  // s  reply to putValue; first reply to getValue

    case subscribe = 0x30  // c
    case subscribed = 0x31  // s  reply
    case diff = 0x32  // s  id of the view
    case snapshot = 0x33  // s  id of the view; reply to fetch: id of the request
    case snapshotRows = 0x34  // s  the same id, after snapshot
    case progress = 0x35  // s  id 0
    case unsubscribe = 0x36  // c
    case subscriptionEnd = 0x37  // s  id of the view
    case subscribeChanges = 0x38  // c
    case changeSet = 0x39  // s  id of the view
    case snapshotSections = 0x3a  // s  the same id, between snapshot and snapshotRows
    case totals = 0x3b  // s  id of the view
    case resubscribe = 0x3c  // c
    case setExpanded = 0x3d  // c

    case getModel = 0x40  // c
    case model = 0x41  // s  reply
    case getStatistics = 0x42  // c
    case statistics = 0x43  // s  reply
    case explain = 0x44  // c
    case explanation = 0x45  // s  reply
    case parsePredicate = 0x46  // c
    case predicate = 0x47  // s  reply
    case getCluster = 0x48  // c
    case cluster = 0x49  // s  reply
    case verifyCluster = 0x4a  // c
    case clusterMark = 0x4b  // s  reply
    case moveLeader = 0x4c  // c
    case drainNode = 0x4d  // c
    case reserve = 0x4e  // c
    case reserved = 0x4f  // s  reply

    case revert = 0x50  // c
    case beginGroup = 0x51  // c
    case group = 0x52  // s  reply
    case endGroup = 0x53  // c
    case previewUndo = 0x54  // c
    case undoPreview = 0x55  // s  reply
    case getUndoState = 0x56  // c
    case undoState = 0x57  // s  reply; with id 0: a change
    case setPresence = 0x58  // c
    case present = 0x59  // s  reply
    case followPresence = 0x5a  // c

    case backup = 0x60  // c
    case backupStart = 0x61  // s  first reply to backup
    case backupChunk = 0x62  // s
    case backupEnd = 0x63  // s  last of the stream
    case check = 0x64  // c
    case checkProgress = 0x65  // s
    case checked = 0x66  // s  reply

    // Between the nodes of a cluster.
    case follow = 0x68  // c
    case record = 0x69  // s  the id of FOLLOW
    case logHead = 0x6a  // s  the id of FOLLOW
    case logBehind = 0x6b  // s  the id of FOLLOW
    case peerOpen = 0x6c  // c  id 0
    case peerClose = 0x6d  // c  id 0
    case peerRequest = 0x6e  // c

    case createToken = 0x70  // c
    case tokenCreated = 0x71  // s  reply
    case listTokens = 0x72  // c
    case tokenList = 0x73  // s  reply
    case revokeToken = 0x74  // c

    case getClients = 0x78  // c
    case clients = 0x79  // s  reply
    case kick = 0x7a  // c
    case applyModel = 0x7b  // c
    case modelApplied = 0x7c  // s  reply

    case own = 0xb0  // s  id 0; clients may skip it
    case presence = 0xb1  // s  id 0; only to followers
    case authors = 0xb2  // s  id 0; only with its feature
    case peerPresence = 0xb3  // cs id 0; between nodes
    case resultTotals = 0xb4  // s  id of the view, or of the fetch; before its rows
    case modelChanged = 0xb5  // s  id 0; only with its feature
}

extension MessageType {
    /// Whether a server may compress the body: true for all types that may be large, except diffs, which grow when
    /// compressed, and chunks, which specify themselves whether they are compressed.
    package var mayBeCompressed: Bool {
        switch self {
        case .snapshot, .snapshotSections, .snapshotRows, .history, .object, .model, .statistics, .explanation,
            .undoPreview, .changeSet, .modelChanged:
            true
        default: false
        }
    }
}

extension MessageType {
    /// Whether only a node of the server's cluster may send it.
    package var isOfNodes: Bool {
        switch self {
        case .follow, .peerOpen, .peerClose, .peerRequest: true
        default: false
        }
    }
}

extension RequestKind {
    /// All kinds of requests.
    package static let all: [RequestKind] = [
        // Reads.
        RequestKind(.getModel, .read, .server, answer: .model, dependsOnModel: false),
        RequestKind(.fetch, .read, .fair, asksForResult: true),
        RequestKind(GetObject.self, .read, .whenDrained),
        RequestKind(Explain.self, .read, .whenDrained, isWhole: true),
        RequestKind(ParsePredicate.self, .read, .server),
        RequestKind(GetStatistics.self, .read, .immediate, isWhole: true, dependsOnModel: false),
        RequestKind(.fetchSubtree, .read, .transfer),
        RequestKind(.getValue, .read, .transfer),

        // Subscriptions.
        RequestKind(.subscribe, .read, .fair, answer: .subscribed, asksForResult: true),
        RequestKind(.resubscribe, .read, .fair, answer: .subscribed, asksForResult: true),
        RequestKind(.setExpanded, .read, .fair, answer: .done, asksForResult: true),
        RequestKind(.unsubscribe, .read, .inOrder, answer: .done),
        RequestKind(.subscribeChanges, .read, .whenDrained, answer: .subscribed, isWhole: true),

        // Writes.
        RequestKind(.transaction, .write, .commit, answer: .receipt),
        // First a stream of chunks; its end makes it a write.
        RequestKind(.importSubtree, .write, .commit, answer: .receipt),
        RequestKind(.beginGroup, .write, .commit, answer: .group, dependsOnModel: false),
        // First a stream of chunks, as for an import; its end makes it a write without a revision.
        RequestKind(.putValue, .write, .immediate, answer: .value, dependsOnModel: false),
        RequestKind(ReserveIDs.self, .write, .immediate, dependsOnModel: false),
        RequestKind(.endGroup, .write, .commit, answer: .done, dependsOnModel: false),

        // Undo. These requests are valid under any model; only conflicts in their answers have numbers of the model.
        RequestKind(.undo, .write, .commit, answer: .receipt, dependsOnModel: false),
        RequestKind(.redo, .write, .commit, answer: .receipt, dependsOnModel: false),
        // Its answer reveals whose a revision is.
        RequestKind(.revert, .write, .commit, answer: .receipt, isWhole: true, dependsOnModel: false),
        RequestKind(PreviewUndo.self, .read, .fair),
        RequestKind(.getUndoState, .read, .immediate, answer: .undoState, dependsOnModel: false),
        RequestKind(GetHistory.self, .read, .fair, dependsOnModel: false),

        // Presence. Showing oneself changes nothing in the store.
        RequestKind(.setPresence, .read, .immediate, answer: .present, dependsOnModel: false),
        RequestKind(.followPresence, .read, .immediate, answer: .done, dependsOnModel: false),

        // Requests of operators.
        RequestKind(CreateToken.self, .admin, .immediate, isWhole: true, dependsOnModel: false),
        RequestKind(ListTokens.self, .admin, .immediate, isWhole: true, dependsOnModel: false),
        RequestKind(RevokeToken.self, .admin, .immediate, isWhole: true, dependsOnModel: false),
        RequestKind(ApplyModel.self, .admin, .immediate, isWhole: true, dependsOnModel: false),
        RequestKind(.backup, .admin, .transfer, isWhole: true),
        RequestKind(.check, .admin, .transfer, isWhole: true),
        RequestKind(GetClients.self, .admin, .server, isWhole: true, dependsOnModel: false),
        RequestKind(Kick.self, .admin, .server, isWhole: true, dependsOnModel: false),
        RequestKind(GetCluster.self, .read, .server, isWhole: true, dependsOnModel: false),
        RequestKind(VerifyCluster.self, .admin, .server, isWhole: true, dependsOnModel: false),
        RequestKind(MoveLeader.self, .admin, .server, isWhole: true, dependsOnModel: false),
        RequestKind(DrainNode.self, .admin, .server, isWhole: true, dependsOnModel: false),
    ]
}
