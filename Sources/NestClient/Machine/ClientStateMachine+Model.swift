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

/// Entity and property numbers are valid in one model only. A request for one model is never sent to a server that has
/// another:
///
///     WELCOME with the known hash ──▶ continue
///     WELCOME with another hash ──▶ subscriptions end; waiting requests fail, and new requests fail
///                                   until the owner has read the new model
extension ClientStateMachine {
    /// The model, if it is the model of the current or last connection.
    package var currentModel: KnownModel? {
        self.readModel.flatMap { $0.hash == self.welcome?.modelHash ? $0 : nil }
    }

    /// Records that the owner of the client has read the model with this hash. Later requests are made for it.
    package mutating func modelIsKnown(hash: UInt64) {
        self.knownModelHash = hash
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
        for (request, wasSent) in self.requests.modelChanged() {
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

    private static let modelChanged = NestError(
        .schemaChanged,
        "the server has another model now, with other numbers for entities and properties: "
            + "read the model again, then repeat requests and subscriptions"
    )
}
