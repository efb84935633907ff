import NestModel
import NestProtocol

/// The server's model as the client has read it, with the hash that WELCOME gave it.
package struct KnownModel: Equatable, Sendable {
    package var model: ManagedObjectModel
    package var hash: UInt64

    package init(model: ManagedObjectModel, hash: UInt64) {
        self.model = model
        self.hash = hash
    }
}

/// Numbers of entities and properties mean something in one model only. What was made for one is never sent to a server
/// that has another:
///
///     WELCOME with the known hash ──▶ everything goes on
///     WELCOME with another hash ──▶ subscriptions end, what waits fails, and so does what is submitted,
///                                   until the owner has read the new model
extension ClientStateMachine {
    /// The model, when it is that of the current or last connection.
    package var currentModel: KnownModel? {
        self.readModel.flatMap { $0.hash == self.welcome?.modelHash ? $0 : nil }
    }

    /// The owner of the client has read the model with this hash: what it asks for from now on is made for it.
    package mutating func modelIsKnown(hash: UInt64) {
        self.knownModelHash = hash
    }

    /// A server has named its model.
    mutating func received(modelHash: UInt64) -> [ClientAction] {
        // Without a word to the contrary, the owner's requests are made for the first server's model.
        guard let known = self.knownModelHash else {
            self.knownModelHash = modelHash
            return []
        }
        guard known != modelHash else { return [] }
        self.readModel = nil
        var actions: [ClientAction] = []
        for (request, wasSent) in self.requests.modelChanged() {
            guard case .caller(let token) = request.owner else { continue }
            let isUnknown = wasSent && request.lossError.code == .outcomeUnknown
            actions.append(.fail(token, isUnknown ? request.lossError : Self.modelChanged))
        }
        return actions + self.endAllSubscriptions(Self.modelChanged)
    }

    /// Why a request or subscription cannot be sent to this server; `nil` when it can, or no server has been met.
    func modelError(_ type: MessageType) -> NestError? {
        guard type.request?.dependsOnModel == true, let known = self.knownModelHash, let welcome = self.welcome,
            known != welcome.modelHash
        else { return nil }
        return Self.modelChanged
    }

    private static let modelChanged = NestError(
        .schemaChanged,
        "the server has another model now, in which numbers of entities and properties may mean something else: read the model again, then ask and subscribe again"
    )
}
