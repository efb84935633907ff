import NIOCore
import NestModel
import NestProtocol

/// The server's model as the client has read it, with its hash from WELCOME.
package struct KnownModel: Equatable, Sendable {
    package var model: ManagedObjectModel
    package var hash: UInt64

    package init(model: ManagedObjectModel, hash: UInt64) {
        self.model = model
        self.hash = hash
    }
}

/// Entity and property numbers are valid in one model, and in those that extend it. A request for one model is never
/// sent to a server with a model that does not extend it:
///
///     WELCOME with the known hash ──▶ continue
///     WELCOME with another hash ──known model was read──▶ GET_MODEL ──extends it──▶ continue with the new model
///                               │                             └──does not──┐
///                               └──it was not──────────────────────────────┴▶ end
///     end: subscriptions end; waiting requests fail, and new requests fail until the owner has read the new model
extension ClientStateMachine {
    /// The model, if it is the model of the current or last connection. Before the first one, that of the cache.
    package var currentModel: KnownModel? {
        guard let welcome = self.welcome else { return self.readModel }
        return self.readModel.flatMap { $0.hash == welcome.modelHash ? $0 : nil }
    }

    /// Records that the owner of the client has read the model with this hash. Later requests are made for it. It is
    /// the server's, unless another connection was made in the meantime.
    package mutating func modelIsKnown(hash: UInt64) {
        if hash == self.currentModel?.hash { self.knownModelHash = hash }
    }

    /// Whether the server's model may extend the known one: it is another, and the known one was read.
    func mayExtend(_ welcome: Welcome) -> Bool {
        guard let known = self.knownModelHash, known != welcome.modelHash else { return false }
        return self.readModel?.hash == known
    }

    /// Asks for the model before anything else is sent.
    mutating func requestModel(of welcome: Welcome) -> [ClientAction] {
        self.phase = .comparing(welcome)
        return [.greeted, self.frame(GetModel(), id: self.requests.takeID())]
    }

    /// Handles the model of a server that has another one than the last.
    mutating func compare(_ model: ManagedObjectModel, of welcome: Welcome, now: NIODeadline) -> [ClientAction] {
        // The connection is about to close.
        guard self.closeReason == nil else { return [] }
        let new = KnownModel(model: model, hash: welcome.modelHash)
        if let old = self.readModel?.model, model.extends(old) {
            self.knownModelHash = new.hash
            let actions = self.followModel(new, from: old)
            return actions + self.enter(welcome, now: now) + self.keep(new)
        }
        let actions = self.enter(welcome, now: now)
        self.readModel = new
        return actions + self.keep(new)
    }

    /// Lets the cache keep the model.
    func keep(_ model: KnownModel) -> [ClientAction] {
        guard self.usesCache else { return [] }
        let bytes = ModelMessage(model.model).body
        return [.cache(.model(CachedModel(identity: self.cacheIdentity, hash: model.hash, bytes: bytes)))]
    }

    /// Handles a change of the server's model on a connection, which goes on. The server promises that the new model
    /// extends the one before. Requests under way are answered as they are; what had all properties keeps those that it
    /// had.
    mutating func received(_ message: ModelChanged) -> [ClientAction] {
        if case .comparing(var greeting) = self.phase {
            // The answer to GET_MODEL follows, with this model.
            greeting.modelHash = message.hash
            self.phase = .comparing(greeting)
            return []
        }
        guard let former = self.welcome?.modelHash, former != message.hash else { return [] }
        self.welcome?.modelHash = message.hash
        let new = KnownModel(model: message.model, hash: message.hash)
        // Otherwise the owner has not read the model of this server yet.
        if self.knownModelHash == former { self.knownModelHash = new.hash }
        self.hasModelGrown = true
        let old = self.readModel?.hash == former ? self.readModel?.model : nil
        var actions: [ClientAction] = []
        if let old {
            actions = self.followModel(new, from: old)
        } else {
            self.readModel = new
            for id in self.subscriptions.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                actions += self.spellOut(id, as: self.subscriptions[id]?.projection ?? [])
            }
        }
        return actions + self.keep(new) + self.flush()
    }

    /// Names the properties of the subscription that has a view now, if the model has changed since WELCOME: on another
    /// connection all properties would be others.
    mutating func spellOut(view: UInt32, as projection: [PropertyNumber]) -> [ClientAction] {
        guard self.hasModelGrown, let id = self.subscriptionOfView[view] else { return [] }
        return self.spellOut(id, as: projection)
    }

    /// Names the properties of a subscription that had all: the client has rows with these.
    mutating func spellOut(_ id: SubscriptionID, as projection: [PropertyNumber]) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.request.projection.isEmpty, !projection.isEmpty
        else { return [] }
        var request = subscription.request
        request.projection = projection
        self.subscriptions[id]?.become(request)
        guard subscription.origin == nil else { return [] }
        return [.deliver(.request(request), to: subscription.subscribers, byteCount: 0)]
    }

    /// Continues with a model that extends the old one. Transfers fail, because their rows have other properties.
    private mutating func followModel(_ new: KnownModel, from old: ManagedObjectModel) -> [ClientAction] {
        self.readModel = new
        var actions: [ClientAction] = []
        for (request, _) in self.requests.removeWaiting(where: \.isTransfer) {
            guard case .caller(let token) = request.owner else { continue }
            actions.append(.fail(token, Self.modelGrew))
        }
        for (subscriber, change) in self.waitingChanges {
            self.waitingChanges[subscriber]?.request = change.request.spelledOut(in: old)
        }
        for (id, subscription) in self.subscriptions.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            // What is under way has all properties of one of the models: the answer names them.
            if case .subscribing = subscription.phase { continue }
            if let change = subscription.change, subscription.phase == .detached {
                self.subscriptions[id]?.change?.request = change.request.spelledOut(in: old)
            }
            let request = subscription.request.spelledOut(in: old)
            guard request != subscription.request else { continue }
            self.subscriptions[id]?.become(request)
            // The subscriber of a candidate still has rows of another request.
            guard subscription.origin == nil else { continue }
            actions.append(.deliver(.request(request), to: subscription.subscribers, byteCount: 0))
        }
        return actions
    }

    /// Handles the model hash of a server.
    mutating func received(modelHash: UInt64) -> [ClientAction] {
        // By default, requests are made for the first server's model.
        guard let known = self.knownModelHash else {
            self.knownModelHash = modelHash
            return []
        }
        guard known != modelHash else { return [] }
        self.readModel = nil
        var actions: [ClientAction] = []
        for (request, wasSent) in self.requests.removeWaiting(where: \.dependsOnModel) {
            guard case .caller(let token) = request.owner else { continue }
            let isUnknown = wasSent && request.lossError.code == .outcomeUnknown
            actions.append(.fail(token, isUnknown ? request.lossError : Self.modelChanged))
        }
        return actions + self.endAllSubscriptions(Self.modelChanged)
    }

    /// Returns why a request or subscription cannot be sent to this server. Returns `nil` if it can, or if there was no
    /// server yet.
    func modelError(_ type: MessageType) -> NestError? {
        guard type.request?.dependsOnModel == true, let known = self.knownModelHash, let welcome = self.welcome,
            known != welcome.modelHash
        else { return nil }
        return Self.modelChanged
    }

    private static let modelGrew = NestError(
        .schemaChanged,
        "the server's model has more properties now, and the transfer has not begun: start it again"
    )

    private static let modelChanged = NestError(
        .schemaChanged,
        "the server has another model now, with other numbers for entities and properties: "
            + "read the model again, then repeat requests and subscriptions"
    )
}
