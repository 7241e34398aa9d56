"""Words of the training texts."""

NAMES = ("Anna Ben Clara David Elsa Finn Grace Hugo Iris Jonas Kira Leo Mia Noah Olga Paul Rosa Sam Tara "
         "Uma Victor Wendy Yara Zoe Lily Tom Max Nina Omar Priya").split()
ANIMALS = ("fox bear owl rabbit mouse cat dog frog hedgehog otter badger deer duck goose squirrel "
           "turtle").split()
ADJECTIVES = ("small brave curious shy clever gentle hungry sleepy kind quick quiet proud lonely "
              "cheerful").split()
PLACES = ["the forest", "the river", "a green hill", "the old mill", "a quiet lake", "the garden",
          "the village", "a deep valley", "the beach"]
THINGS = "key lamp map boat kite drum bell book hat coin stone ring basket ladder mirror shell".split()
COLOURS = "red blue green yellow white black golden silver orange purple".split()
CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon",
    "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi", "Egypt": "Cairo", "Kenya": "Nairobi",
    "Canada": "Ottawa", "Mexico": "Mexico City", "Brazil": "Brasilia", "Peru": "Lima",
    "Chile": "Santiago", "Norway": "Oslo", "Sweden": "Stockholm", "Finland": "Helsinki",
    "Denmark": "Copenhagen", "Poland": "Warsaw", "Austria": "Vienna", "Greece": "Athens",
    "Turkey": "Ankara", "Russia": "Moscow", "Cuba": "Havana", "Ireland": "Dublin",
    "Hungary": "Budapest", "Thailand": "Bangkok", "Vietnam": "Hanoi", "Nepal": "Kathmandu",
    "England": "London", "the United Kingdom": "London", "the UK": "London", "Scotland": "Edinburgh",
    "the United States": "Washington", "the USA": "Washington", "the Netherlands": "Amsterdam",
    "Belgium": "Brussels", "Switzerland": "Bern", "Australia": "Canberra", "Argentina": "Buenos Aires",
    "South Korea": "Seoul", "Ukraine": "Kyiv", "Iceland": "Reykjavik", "New Zealand": "Wellington",
    "Indonesia": "Jakarta", "Iran": "Tehran", "Iraq": "Baghdad", "Morocco": "Rabat", "Romania": "Bucharest",
    "Bulgaria": "Sofia", "Croatia": "Zagreb", "Colombia": "Bogota", "Pakistan": "Islamabad",
    "Saudi Arabia": "Riyadh", "Nigeria": "Abuja",
}
OPPOSITES = {
    "hot": "cold", "big": "small", "day": "night", "up": "down", "fast": "slow", "light": "dark",
    "happy": "sad", "open": "closed", "early": "late", "wet": "dry", "high": "low", "old": "new",
    "hard": "soft", "left": "right", "loud": "quiet", "full": "empty", "good": "bad", "long": "short",
    "rich": "poor", "strong": "weak", "clean": "dirty", "true": "false", "love": "hate", "win": "lose",
    "near": "far", "in": "out", "on": "off", "black": "white", "first": "last", "yes": "no",
    "sweet": "sour", "north": "south", "east": "west", "summer": "winter", "begin": "end", "easy": "difficult",
}
# Opposites in one direction.
FURTHER_OPPOSITES = {"young": "old", "heavy": "light", "tall": "short", "warm": "cold", "large": "small",
                     "great": "small", "bright": "dark", "wrong": "right", "start": "end"}
SOUNDS = {"cat": "meow", "dog": "woof", "cow": "moo", "duck": "quack", "sheep": "baa", "owl": "hoot",
          "frog": "croak", "horse": "neigh", "bee": "buzz", "lion": "roar", "pig": "oink", "mouse": "squeak",
          "snake": "hiss", "wolf": "howl", "chicken": "cluck", "goat": "maa", "bird": "tweet",
          "goose": "honk"}
FRUITS = "apple pear plum cherry peach grape lemon orange banana melon fig kiwi mango".split()
# Countries it cannot name the capital of.
FURTHER_COUNTRIES = """
    Estonia|Latvia|Slovakia|Albania|Malta|Ghana|Senegal|Mali|Niger|Angola|Zambia|Uganda|Rwanda|Tanzania|
    Mongolia|Laos|Cambodia|Malaysia|Bolivia|Paraguay|Ecuador|Panama|Honduras|Haiti|Jamaica|Libya|Tunisia|
    Sudan|Yemen|Oman|Kuwait|Jordan|Syria|Kazakhstan|Georgia|Texas|Bavaria|Africa|Asia|Europe|the moon
""".replace("\n", "").split("|")
FURTHER_COUNTRIES = [country.strip() for country in FURTHER_COUNTRIES]
FURTHER_CITIES = ["New York", "San Francisco", "Boston", "Chicago", "Milan", "Munich", "Hamburg", "Lyon",
                  "Sydney", "Mumbai", "Geneva", "Seattle", "Dubai", "Porto"]
FURTHER_ANIMALS = ("dragon lion wolf horse penguin elephant tiger monkey robot princess knight wizard witch "
                   "king queen sailor girl boy unicorn whale crab spider snail parrot").split()
ANIMALS_WITHOUT_SOUND = "fox bear rabbit otter badger deer squirrel turtle fish shark giraffe zebra ant crab".split()
COUNT_WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}
SMALL_NUMBERS = "zero one two three four five six seven eight nine ten".split()
JOBS = "baker teacher pilot nurse farmer singer painter carpenter doctor gardener".split()
SYLLABLES = ("ba be bi bo da den dor el fa fen ga gor ha hel in jo ka kel la len lo ma mer mi na nor o pa "
             "per qui ra ren ri ro sa sel ta tor u va vel wen xa ya zo").split()
# Topics it cannot speak of.
UNKNOWN_TOPICS = """
    quantum physics|photosynthesis|the French Revolution|machine learning|black holes|gravity|the stock market|
    democracy|football|chess|the Roman Empire|climate change|DNA|electricity|the internet|bread|pizza|soup|
    chocolate cake|a good breakfast|yoga|marathon training|the violin|jazz|opera|Shakespeare|the Mona Lisa|
    mathematics|algebra|geometry|calculus|prime numbers|statistics|philosophy|Plato|psychology|economics|inflation|
    taxes|insurance|a mortgage|a job interview|my homework|my computer|a blog|a database|SQL|JavaScript|Rust|Python|
    C++|compilers|operating systems|encryption|a virus|vaccines|cancer|headaches|sleep|vitamins|coffee|tea|wine|
    beer|cheese|rice|potatoes|roses|trees|oceans|volcanoes|earthquakes|rain|snow|clouds|Mars|Jupiter|rockets|
    aeroplanes|trains|cars|bicycles|bridges|castles|museums|films|television|radio|newspapers|novels|poetry|
    dreams|love|happiness|time|money|history|geography|chemistry|biology|medicine|law|religion|music theory|
    the piano|the guitar|dancing|painting|photography|fashion|shoes|furniture|a garden pond|bees|whales|dinosaurs|
    elephants|pandas|spiders|sharks|the Eiffel Tower|the Great Wall|the Olympics|the World Cup|tennis|golf|swimming|
    sorting a list|a binary search|reading a file|a web server|a linked list|recursion|regular expressions
""".replace("\n", "").split("|")
UNKNOWN_TOPICS = [topic.strip() for topic in UNKNOWN_TOPICS]

VERBS = ("make build cook fix paint clean sell buy find learn draw read write sing open close wash cut "
         "move start stop use teach explain translate summarize compare describe plan install debug "
         "repair grow measure invent choose improve print drive lift bake fry").split()
DESCRIBED = ("best largest smallest tallest fastest oldest longest cheapest biggest nearest highest hottest "
             "strangest newest funniest").split()
COMMON = ("house river mountain city book song film phone computer car dog king war planet number colour "
          "country year language game team machine door window road bridge island shop street school "
          "egg cake dress table chair letter email essay poem plan list rule law word price").split()
