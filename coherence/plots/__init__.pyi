from .beliefs import plot_beliefs as plot_beliefs
from .beliefs import plot_calibration as plot_calibration
from .beliefs import plot_reliability as plot_reliability
from .offers import plot_offers as plot_offers
from .results import plot_forest as plot_forest
from .results import plot_pairwise_choice as plot_pairwise_choice
from .results import plot_power as plot_power
from .states import plot_state_shares as plot_state_shares
